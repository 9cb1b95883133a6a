// Where `teal dev` listens when nothing is said: the ports that tools of its kind have. Apart from the rest, so that help needs nothing of
// the service.

export type DevPort = 'smtp' | 'http' | 'imap' | 'pop3' | 'smtps' | 'imaps' | 'pop3s' | 'api'

/** Null is off. */
export const devPorts: Readonly<Record<DevPort, { readonly initial: number | null; readonly what: string }>> = {
  smtp: { initial: 1025, what: 'SMTP' },
  http: { initial: 8025, what: 'the page and the HTTP API of tests' },
  imap: { initial: 1143, what: 'IMAP' },
  pop3: { initial: 1110, what: 'POP3' },
  smtps: { initial: null, what: 'SMTP over TLS' },
  imaps: { initial: null, what: 'IMAP over TLS' },
  pop3s: { initial: null, what: 'POP3 over TLS' },
  api: { initial: null, what: 'the HTTP API of the service itself' },
}
