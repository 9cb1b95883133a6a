// Asks rspamd about a message, and tells it what users think of one: HTTP, `checkv2` at its worker, `learnspam` and
// `learnham` at its controller.
//
// Promises: an answer of bounded size within a bounded time, or an error. Each question has a connection of its own: what an
// old controller puts behind a 204, which has no body, can then be nobody else's answer. Must not be given an address that a
// stranger chose.

import { limits } from '#lib/limits.ts'
import { plainHttp, secureHttp } from '#lib/process/lazy.ts'

export interface RspamdQuestion {
  readonly from: string
  readonly recipients: readonly string[]
  readonly ip: string
  readonly helo: string
  readonly id: string
}

export interface RspamdVerdict {
  /** `reject`, `soft reject`, `rewrite subject`, `greylist`, `add header`, `no action`. */
  readonly action: string
  readonly score: number
  /** The heaviest symbols. */
  readonly symbols: readonly string[]
}

interface Answer {
  readonly status: number
  readonly text: string
}

/** @throws Error where there is no verdict */
export async function checkRspamd(url: string, message: Buffer, question: RspamdQuestion): Promise<RspamdVerdict> {
  const { from, recipients, ip, helo, id } = question
  const headers: [string, string][] = [
    ['From', from],
    ...recipients.slice(0, limits.spam.scannedRecipientsMax).map((one): [string, string] => ['Rcpt', one]),
    ['IP', ip],
    ['Helo', helo],
    ['Queue-Id', id],
  ]
  const { status, text } = await post(new URL('checkv2', based(url)), message, headers)
  if (status !== 200) throw new Error(`rspamd answered ${status}`)
  const found: unknown = JSON.parse(text)
  if (typeof found !== 'object' || found === null) throw new Error('rspamd gave no verdict')
  const { action, score, symbols } = found as Record<string, unknown>
  if (typeof action !== 'string' || typeof score !== 'number') throw new Error('rspamd gave no verdict')
  return { action, score, symbols: heaviest(symbols) }
}

/** Tells what a user thinks; that it was known already is fine. @throws Error where it was not taken */
export async function teachRspamd(url: string, password: string, message: Buffer, spam: boolean): Promise<void> {
  const target = new URL(spam ? 'learnspam' : 'learnham', based(url))
  const { status } = await post(target, message, password === '' ? [] : [['Password', password]])
  // 204: too little in it to learn from; 208: learned before.
  if (status !== 200 && status !== 204 && status !== 208) throw new Error(`rspamd answered ${status}`)
}

function based(url: string): string {
  return url.endsWith('/') ? url : `${url}/`
}

const shownSymbols = 5

function heaviest(symbols: unknown): string[] {
  if (typeof symbols !== 'object' || symbols === null) return []
  const scored = Object.entries(symbols as Record<string, { score?: unknown }>).flatMap(([name, value]) =>
    typeof value?.score === 'number' && value.score !== 0 ? [{ name: name.slice(0, 60), score: value.score }] : [],
  )
  const sorted = scored.sort((one, other) => Math.abs(other.score) - Math.abs(one.score))
  return sorted.slice(0, shownSymbols).map(({ name }) => name)
}

function post(url: URL, body: Buffer, fields: readonly (readonly [string, string])[]): Promise<Answer> {
  const { scanMs, answerBytesMax } = limits.spam
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? secureHttp() : plainHttp()).request(url, {
      ...{ method: 'POST', agent: false, signal: AbortSignal.timeout(scanMs) },
    })
    for (const name of new Set(fields.map(([key]) => key))) {
      const values = fields.flatMap(([key, value]) => (key === name ? [printable(value)] : []))
      request.setHeader(name, values.length === 1 ? (values[0] as string) : values)
    }
    request.setHeader('Content-Length', body.length)
    // After an answer without a body, what comes on this connection is of no interest, and no error.
    request.on('error', reject)
    request.on('response', response => {
      const { statusCode: status = 0 } = response
      if (status === 204) {
        resolve({ status, text: '' })
        request.destroy()
        return
      }
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        chunks.push(chunk)
        if (bytes > answerBytesMax) request.destroy(new Error('rspamd answered too much'))
      })
      response.on('error', reject)
      response.on('end', () => resolve({ status, text: Buffer.concat(chunks).toString() }))
    })
    request.end(body)
  })
}

/** A value of a header field: what was sent by a stranger must not end it. */
function printable(value: string): string {
  return value.replace(/[^\x20-\x7e]/g, '?').slice(0, 1000)
}
