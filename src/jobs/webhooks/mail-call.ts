// One webhook call by mail: an event as a message to the address an smtp:// or smtps:// URL names.
//
// `smtps://user:password@host:port/recipient@example.com`; without a recipient the message goes to events@<host>. Each
// delivery is one message, multipart/alternative of a plain text summary and the JSON itself as application/json; its
// Message-ID is made of the delivery's id and stays the same across attempts. smtp:// uses STARTTLS where it is offered
// and insists on it where the URL has credentials; smtps:// is TLS with a checked certificate.

import { after } from '#lib/clock.ts'
import { mimeNode } from '#lib/process/lazy.ts'
import type { Outward } from '#net/outward/outward.ts'
import { MailFailed, type MailRoute, MailSession } from '../relay/smtp-client.ts'
import { type Caller, type Outcome, type Post, signature } from './call.ts'

export interface MailCallerOptions {
  readonly outward: Outward
  /** Time for one call. */
  readonly timeoutMs: number
  /** Name of this service: in EHLO, in the sender and in Message-IDs. */
  readonly hostname: string
  /** Certificates to trust besides the built-in ones. */
  readonly ca?: string
}

export class MailCaller implements Caller {
  readonly #options: MailCallerOptions

  constructor(options: MailCallerOptions) {
    this.#options = options
  }

  async call(url: URL, secret: string | null, post: Post, signal: AbortSignal): Promise<Outcome> {
    const recipient = recipientOf(url)
    if (recipient === undefined) return { failure: 'target', status: null }
    const ended = new AbortController()
    const onStop = () => ended.abort(signal.reason)
    const timer = after(this.#options.timeoutMs, onStop)
    signal.addEventListener('abort', onStop, { once: true })
    try {
      const message = await compose(post, secret, recipient, this.#options.hostname)
      await this.#send(url, recipient, message, ended.signal)
      return { failure: null, status: 250 }
    } catch (error) {
      if (error instanceof MailFailed) return { failure: error.failure, status: error.status }
      throw error
    } finally {
      timer.cancel()
      signal.removeEventListener('abort', onStop)
    }
  }

  async close(): Promise<void> {}

  async #send(url: URL, recipient: string, message: Buffer, signal: AbortSignal): Promise<void> {
    const { outward, hostname } = this.#options
    const session = await MailSession.open(outward, this.#route(url), signal)
    try {
      await session.send({ from: sender(hostname), to: [recipient], size: message.length }, message)
    } finally {
      session.close()
    }
  }

  #route(url: URL): MailRoute {
    const { hostname: helo, timeoutMs, ca } = this.#options
    const implicit = url.protocol === 'smtps:'
    const auth = { user: plain(url.username), pass: plain(url.password) }
    return {
      host: url.hostname,
      port: url.port === '' ? (implicit ? 465 : 25) : Number(url.port),
      tls: implicit ? 'implicit' : 'opportunistic',
      ...(auth.user !== '' && { auth }),
      helo,
      connectMs: timeoutMs,
      idleMs: timeoutMs,
      ...(ca !== undefined && { ca }),
    }
  }
}

/** The address in the path of a URL, or one made from its host; undefined where that is no address. */
export function recipientOf(url: URL): string | undefined {
  const path = plain(url.pathname.slice(1))
  const address = path === '' ? `events@${url.hostname}` : path
  return address.length <= addressLengthMax && addressForm.test(address) ? address : undefined
}

const addressForm = /^[^\s@<>"(),:;\\\u0000-\u001f\u007f]+@[^\s@<>"(),;\\\u0000-\u001f\u007f]+$/
const addressLengthMax = 254

function compose(post: Post, secret: string | null, recipient: string, hostname: string): Promise<Buffer> {
  const timestamp = String(Math.floor(post.at / 1000))
  const node = new (mimeNode())('multipart/alternative', { disableFileAccess: true, disableUrlAccess: true })
  node.setHeader({
    from: { name: 'Mail events', address: sender(hostname) },
    to: recipient,
    subject: `[event] ${post.name}`,
    date: new Date(post.at).toUTCString().replace('GMT', '+0000'),
    'message-id': `<${post.id.replace(':', '.')}@${hostname}>`,
    'auto-submitted': 'auto-generated',
    'webhook-id': post.id,
    'webhook-timestamp': timestamp,
    ...(secret !== null && { 'webhook-signature': signature(secret, post.id, timestamp, post.json) }),
  })
  node.createChild('text/plain; charset=utf-8').setContent(summary(post))
  node.createChild('application/json; charset=utf-8').setContent(post.json)
  return new Promise((resolve, reject) => {
    node.build((error, message) => (error === null && message ? resolve(message) : reject(error)))
  })
}

/** The event for a person: a line for each plain field. */
function summary(post: Post): string {
  const fields = Object.entries(JSON.parse(post.json) as Record<string, unknown>)
    .filter(([key]) => key !== 'ev' && key !== 'id' && key !== 'time')
    .map(([key, value]) => `${key}: ${typeof value === 'object' ? '(see the JSON)' : String(value)}`)
  return [`${post.name} at ${new Date(post.at).toISOString()}`, '', ...fields, '', `Delivery ${post.id}`, ''].join('\n')
}

function sender(hostname: string): string {
  return `webhooks@${hostname}`
}

function plain(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
