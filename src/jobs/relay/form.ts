// A forwarded message to an HTTP target: one POST of a multipart form (api-semantics 8).
//
// The message is streamed, redirects are not followed, of the answer only the status counts. 2xx is delivered; 3xx and 410
// are final; everything else may pass.

import type { Agent } from 'undici'
import { after } from '#lib/clock.ts'
import { randomHex } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { parseAddresses } from '#mail/address/address-list.ts'
import type { Header } from '#mail/header/header.ts'
import { outwardFailure } from '#net/outward/outward.ts'

export interface FormMessage {
  /** `<queue id>.<seq>`. */
  readonly id: string
  readonly queueId: string
  readonly from: string
  readonly to: string
  readonly header: Header
  /** Bytes of the message, and its stream. */
  readonly size: number
  stream(): AsyncIterable<Buffer>
  /** The first bytes of it. */
  readonly start: Buffer
}

export interface FormOutcome {
  readonly delivered: boolean
  /** It will never be taken. */
  readonly final: boolean
  readonly failure: string | null
  readonly status: number | null
  readonly response: string
}

const addressFields = ['from', 'to', 'cc', 'bcc', 'reply-to', 'sender'] as const
const textFields = ['in-reply-to', 'references', 'date', 'message-id', 'subject'] as const
const boundaryBytes = 16

/** Posts a message. Never throws. */
export async function postForm(
  agent: Agent,
  target: string,
  message: FormMessage,
  userAgent: string,
  signal: AbortSignal,
): Promise<FormOutcome> {
  const url = new URL(target)
  const ended = new AbortController()
  const onStop = () => ended.abort(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' }))
  const timer = after(limits.outbound.httpMs, onStop)
  signal.addEventListener('abort', onStop, { once: true })
  try {
    const boundary = `form${randomHex(boundaryBytes)}`
    const head = Buffer.from(fieldsOf(message, boundary))
    const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
    const answer = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'POST',
      headers: {
        'content-type': `multipart/form-data; boundary=${boundary}`,
        'content-length': String(head.length + message.size + tail.length),
        'user-agent': userAgent,
        ...(url.username + url.password !== '' && { authorization: basic(url) }),
      },
      body: around(head, message.stream(), tail) as never,
      signal: ended.signal,
    })
    const { statusCode: status } = answer
    await answer.body.dump({ limit: limits.outbound.answerBytesMax, signal: ended.signal }).catch(() => {})
    const delivered = status >= 200 && status < 300
    const final = (status >= 300 && status < 400) || status === 410
    return { delivered, final, failure: delivered ? null : 'status', status, response: `HTTP ${status}` }
  } catch (error) {
    const failure = outwardFailure(error)
    return { delivered: false, final: failure === 'blocked', failure, status: null, response: failure }
  } finally {
    timer.cancel()
    signal.removeEventListener('abort', onStop)
  }
}

async function* around(head: Buffer, message: AsyncIterable<Buffer>, tail: Buffer): AsyncGenerator<Buffer> {
  yield head
  yield* message
  yield tail
}

function fieldsOf(message: FormMessage, boundary: string): string {
  const { id, from, to, header, size, start, queueId } = message
  const fields: [string, string][] = [
    ['id', id],
    ['from', from],
    ['to', to],
  ]
  for (const key of addressFields) {
    const values = header.rawAll(key)
    if (values.length > 0) fields.push([named(key), JSON.stringify(parseAddresses(values.join(', ')))])
  }
  for (const key of textFields) {
    const value = header.get(key)
    if (value !== undefined) fields.push([named(key), JSON.stringify(value)])
  }
  fields.push(
    ['mail_to_http[from]', from],
    ['mail_to_http[rcpt]', to],
    ['mail_to_http[real_length]', String(size)],
    ['mail_to_http[body]', start.toString('utf8')],
  )
  const texts = fields.map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const file = `name="message"; filename="${queueId}.eml"`
  return `${texts.join('')}--${boundary}\r\nContent-Disposition: form-data; ${file}\r\nContent-Type: message/rfc822\r\n\r\n`
}

function named(key: string): string {
  return `headers[${key.replaceAll('-', '_')}]`
}

function basic(url: URL): string {
  const text = `${decoded(url.username)}:${decoded(url.password)}`
  return `Basic ${Buffer.from(text).toString('base64')}`
}

/** A part of a URL as it is meant; as it stands where it is not encoded. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
