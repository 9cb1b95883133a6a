// What sensible clients say, for spoiling: `@` stands for a random word.

import type { Speech } from './wire.ts'

const message = 'Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\ntext\r\n--b--'

export function imapSpeech(user: string, password: string): Speech {
  const login = `a LOGIN ${user} "${password}"`
  const tag = (command: string) => `b ${command}`
  return {
    openings: [
      [],
      [login],
      [login, 'a SELECT INBOX'],
      [login, 'a EXAMINE INBOX'],
      [login, 'a ENABLE QRESYNC IMAP4rev2', 'a SELECT INBOX'],
      [login, 'a SELECT INBOX', 'a IDLE'],
    ],
    commands: [
      'NOOP',
      'CAPABILITY',
      'LOGIN @ @',
      'AUTHENTICATE PLAIN',
      'AUTHENTICATE PLAIN AGFubmEAeA==',
      'STARTTLS',
      'ID ("name" "@")',
      'ENABLE CONDSTORE UTF8=ACCEPT',
      'NAMESPACE',
      'CREATE "@"',
      'CREATE @ (USE (\\Archive))',
      'DELETE @',
      'RENAME @ @',
      'SUBSCRIBE @',
      'LIST "" "@*%"',
      'LIST (SUBSCRIBED RECURSIVEMATCH) "" (@ %) RETURN (STATUS (MESSAGES UIDNEXT SIZE))',
      'LSUB "" %',
      'STATUS @ (MESSAGES UNSEEN HIGHESTMODSEQ)',
      `APPEND @ (\\Seen @) {${message.length}+}\r\n${message}`,
      'APPEND INBOX {10}',
      'APPEND INBOX UTF8 (~{5+}\r\nhello)',
      'SELECT @',
      'SELECT INBOX (QRESYNC (1 1 1:* (1:* 1:*)))',
      'CLOSE',
      'UNSELECT',
      'EXPUNGE',
      'UID EXPUNGE @',
      'FETCH @ (FLAGS UID ENVELOPE BODYSTRUCTURE BODY.PEEK[1.2.HEADER.FIELDS (@ @)]<0.10> BINARY.SIZE[1])',
      'FETCH 1:* FULL',
      'UID FETCH @ (FLAGS) (CHANGEDSINCE @ VANISHED)',
      'FETCH @ (BODY[TEXT] BINARY[1] PREVIEW (LAZY) EMAILID)',
      'STORE @ +FLAGS.SILENT (\\Seen @)',
      'UID STORE @ (UNCHANGEDSINCE @) FLAGS @',
      'COPY @ @',
      'MOVE @ @',
      'SEARCH RETURN (MIN MAX ALL SAVE) OR (FROM @ NOT SUBJECT "@") UID @',
      'SEARCH CHARSET UTF-8 BODY {3+}\r\nabc SINCE 1-Jan-2020 HEADER @ @',
      'UID SEARCH MODSEQ @ OLDER @ $',
      'SORT (REVERSE DATE SUBJECT) UTF-8 ALL',
      'THREAD REFERENCES UTF-8 TEXT @',
      'GETQUOTAROOT @',
      'IDLE',
      'DONE',
      'LOGOUT',
    ].map(tag),
    words: [
      'INBOX',
      'Trash',
      'a/b',
      '1',
      '1:*',
      '2,4:7',
      '*',
      '$',
      '"quoted"',
      'NIL',
      '()',
      '(a b)',
      '\\Seen',
      '$Label',
      'x'.repeat(300),
      '&AOk-',
      '{0+}\r\n',
    ],
    goodbye: 'z LOGOUT',
  }
}

export function pop3Speech(user: string, password: string): Speech {
  const login = [`USER ${user}`, `PASS ${password}`]
  return {
    openings: [[], [`USER ${user}`], login],
    commands: [
      'CAPA',
      'USER @',
      'PASS @',
      'AUTH PLAIN',
      'AUTH PLAIN @',
      'AUTH LOGIN',
      'STLS',
      'STAT',
      'LIST',
      'LIST @',
      'UIDL @',
      'RETR @',
      'TOP @ @',
      'DELE @',
      'RSET',
      'NOOP',
      'UTF8',
      'QUIT',
    ],
    words: ['1', '0', '-1', '99999999999', user, 'AGEAYg==', '*', '=', 'x'.repeat(300)],
    goodbye: 'QUIT',
  }
}

export function smtpSpeech(hello: 'EHLO' | 'LHLO', recipient: string): Speech {
  const hi = `${hello} test`
  const mail = [hi, 'MAIL FROM:<a@example.net>']
  return {
    openings: [[], [hi], mail, [...mail, `RCPT TO:<${recipient}>`], [...mail, `RCPT TO:<${recipient}>`, 'DATA']],
    commands: [
      `${hello} @`,
      'HELO @',
      'MAIL FROM:<@>',
      'MAIL FROM:<> SIZE=@ BODY=8BITMIME SMTPUTF8',
      `RCPT TO:<${recipient}>`,
      'RCPT TO:<@> NOTIFY=NEVER',
      `DATA\r\n${message}\r\n.`,
      'DATA',
      'BDAT 5 LAST\r\nhello',
      'BDAT @',
      'RSET',
      'NOOP @',
      'VRFY @',
      'HELP',
      'AUTH PLAIN @',
      'STARTTLS',
      '.',
      '..',
      'QUIT',
    ],
    words: [
      'test',
      'a@b.c',
      '"quoted local"@example.com',
      '[127.0.0.1]',
      '<>',
      '0',
      '5',
      '99999999999',
      '=',
      'x'.repeat(600),
    ],
    goodbye: 'QUIT',
  }
}
