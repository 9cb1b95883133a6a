// What an application is told of the service, by the names its framework knows.

import type * as Promised from '../testing.d.ts'

const account = { user: 'test', password: 'test' } as const

/** Every one of `Stack`, and all of them where none is named. */
export function variables({ host, port }: Promised.MailPort, stack?: Promised.Stack): Record<string, string> {
  const text = String(port)
  const { user, password } = account
  const url = `smtp://${user}:${password}@${host}:${port}`
  const all: Record<Promised.Stack, Record<string, string>> = {
    smtp: { SMTP_URL: url, SMTP_HOST: host, SMTP_PORT: text, SMTP_USER: user, SMTP_PASSWORD: password },
    nodemailer: {
      // The certificate is nobody's, and nodemailer takes every offer of TLS.
      SMTP_URL: `${url}/?tls.rejectUnauthorized=false`,
      ...{ SMTP_HOST: host, SMTP_PORT: text, SMTP_SECURE: 'false', SMTP_USER: user, SMTP_PASS: password },
    },
    django: {
      ...{ EMAIL_HOST: host, EMAIL_PORT: text, EMAIL_HOST_USER: user, EMAIL_HOST_PASSWORD: password },
      ...{ EMAIL_USE_TLS: '', EMAIL_USE_SSL: '', EMAIL_URL: url },
    },
    laravel: {
      ...{ MAIL_MAILER: 'smtp', MAIL_HOST: host, MAIL_PORT: text, MAIL_USERNAME: user, MAIL_PASSWORD: password },
      ...{ MAIL_ENCRYPTION: 'null', MAIL_SCHEME: 'null' },
    },
    rails: {
      ...{ SMTP_ADDRESS: host, SMTP_PORT: text, SMTP_USERNAME: user, SMTP_PASSWORD: password },
      ...{ SMTP_DOMAIN: 'localhost', SMTP_AUTHENTICATION: 'plain', SMTP_ENABLE_STARTTLS_AUTO: 'false' },
    },
    spring: {
      ...{ SPRING_MAIL_HOST: host, SPRING_MAIL_PORT: text, SPRING_MAIL_USERNAME: user, SPRING_MAIL_PASSWORD: password },
      ...{ SPRING_MAIL_PROPERTIES_MAIL_SMTP_AUTH: 'true', SPRING_MAIL_PROPERTIES_MAIL_SMTP_STARTTLS_ENABLE: 'false' },
    },
  }
  if (stack !== undefined && !Object.hasOwn(all, stack))
    throw new TypeError(`There is no stack '${stack}'; there are ${Object.keys(all).join(', ')}`)
  return stack === undefined ? Object.assign({}, ...Object.values(all)) : all[stack]
}
