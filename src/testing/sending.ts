// A mail that a test writes itself: from a draft to bytes, and over SMTP to the service, as a stranger would.

import { Readable } from 'node:stream'
import { mailComposer, smtpConnection } from '#lib/process/lazy.ts'
import { mailboxes } from '#mail/address/address.ts'
import { parseAddresses } from '#mail/address/address-list.ts'
import { mendPlain } from '#mail/mime/line-end.ts'
import type * as Promised from '../testing.d.ts'

/** Whole messages stay as they are, but for line ends. */
export async function writeDraft(draft: Promised.Draft): Promise<Buffer> {
  if (typeof draft === 'string' || Buffer.isBuffer(draft)) return mendPlain(Buffer.from(draft))
  const { from = 'sender@example.com', to = 'recipient@example.com', cc, ...rest } = draft
  // No path and no URL of a draft is ever opened.
  const safe = { disableFileAccess: true, disableUrlAccess: true, newline: '\r\n' }
  const Composer = mailComposer()
  const mail = { ...safe, ...rest, from, to: list(to), ...(cc !== undefined && { cc: list(cc) }) }
  return new Composer(mail as never).compile().build()
}

function list(addresses: string | readonly string[]): string[] {
  return typeof addresses === 'string' ? [addresses] : [...addresses]
}

/** Sender and recipients as the draft names them. */
export function envelopeOf(draft: Promised.Draft): { from: string; to: string[] } {
  if (typeof draft === 'string' || Buffer.isBuffer(draft)) return { from: 'sender@example.com', to: [] }
  const of = (text: string) => mailboxes(parseAddresses(text)).map(({ address }) => address)
  const to = [...list(draft.to ?? 'recipient@example.com'), ...list(draft.cc ?? [])]
  return { from: of(draft.from ?? '')[0] ?? 'sender@example.com', to: to.flatMap(of) }
}

/** Sends bytes over SMTP. @throws the client's error, with the reply in `response` */
export function deliver(
  port: Promised.MailPort,
  envelope: { readonly from: string; readonly to: readonly string[] },
  message: Buffer,
): Promise<void> {
  const Connection = smtpConnection()
  const connection = new Connection({ ...port, ignoreTLS: true, name: 'test.invalid' })
  return new Promise((resolve, reject) => {
    const failed = (error: Error) => {
      // First: closing is an end, too.
      reject(error)
      connection.close()
    }
    connection.once('error', failed)
    connection.once('end', () => reject(new Error('the connection was cut')))
    connection.connect(() => {
      const sent = { from: envelope.from, to: [...envelope.to], size: message.length }
      connection.send(sent, Readable.from([message]), error => {
        if (error !== null) return failed(error)
        connection.quit()
        resolve()
      })
    })
  })
}
