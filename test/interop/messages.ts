// Messages that programs carry: shapes that have broken programs before.

const head = (subject: string, more = '') =>
  `From: "Bea B." <bea@example.net>\r\nTo: anna@example.com\r\nSubject: ${subject}\r\nMessage-ID: <${subject.replace(/\W/g, '')}@example.net>\r\nDate: Sat, 21 Nov 2026 10:00:00 +0100\r\n${more}`

export const messages: readonly string[] = [
  `${head('plain')}\r\nHello.\r\n`,
  `${head('dots')}\r\n.\r\n..\r\n.three\r\nFrom here\r\n`,
  `${head('empty')}\r\n`,
  `${head('=?utf-8?q?Gr=C3=BC=C3=9Fe?=', 'Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n')}\r\nGr\u00fc\u00dfe \u4e2d\u6587\r\n`,
  `${head('long lines')}\r\n${'word '.repeat(190)}\r\n${'x'.repeat(900)}\r\n`,
  `${head('large', 'Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n')}\r\n${'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU2Nzg5QUJDREVGR0hJSktMTU5PUFFSU1RVVldY\r\n'.repeat(20_000)}`,
  `${head('nested', 'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="b 1"\r\n')}\r\n--b 1\r\nContent-Type: text/plain\r\n\r\none\r\n--b 1\r\nContent-Type: message/rfc822\r\n\r\n${head('inner')}\r\ninside\r\n--b 1--\r\n`,
]
