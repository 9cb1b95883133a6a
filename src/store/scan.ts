// Looking for text in stored messages: decoded, case folded, substrings (RFC 9051 6.4.4 BODY, TEXT, HEADER).
//
// Synchronous and heavy: it belongs on a thread for long reads. A message is looked at in pieces of bounded size, so
// neither a large one nor many cost memory.

import { limits } from '#lib/limits.ts'
import { fold, squeeze } from '#mail/fold.ts'
import { Header } from '#mail/header.ts'
import { readText } from '#mail/text.ts'
import { decodeWords } from '#mail/words.ts'
import type { StoredDetail } from './outlines.ts'
import type { Reader } from './reader.ts'
import { candidateBodies } from './search-index.ts'

export interface Needle {
  /** `body`, `text`, or with `header` the name of a header field in lower case. */
  readonly where: string
  /** Folded: lower case, NFC. An empty one is everywhere, and in a header field that is there. */
  readonly text: string
  readonly header: boolean
}

export interface ScanTask {
  /** Bodies, and the header lines on top of each. */
  readonly messages: readonly { readonly body: number; readonly prefix: string }[]
  /** Number of the account. */
  readonly user: number
  /** Some of the messages may be longer than what the index holds of them. */
  readonly long: boolean
  /** At most 31. */
  readonly needles: readonly Needle[]
}

/** Bytes of a body; what `Bodies.open` gives. */
export interface Openable {
  open(num: number): { readonly size: number; read(start?: number, end?: number): Buffer | Promise<Buffer> }
}

interface Scan {
  readonly read: Reader
  readonly bodies: Openable
  readonly needles: readonly Needle[]
  /** Some needle is looked for in headers. */
  readonly headers: boolean
  /** For each needle, the bodies whose text may have it; null where the index cannot tell. */
  readonly candidates: readonly (ReadonlySet<number> | null)[]
}

/** For each message, a bit for each needle that was found. White space is flexible in texts, case does not matter. */
export async function scanTexts(read: Reader, bodies: Openable, task: ScanTask): Promise<number[]> {
  const { needles, user } = task
  const headers = needles.some(needle => needle.header || needle.where === 'text')
  const candidates = needles.map(needle => (needle.header ? null : candidateBodies(read, user, needle.text)))
  const scan: Scan = { read, bodies, needles, headers, candidates }
  const answers: number[] = []
  for (const { body, prefix } of task.messages) {
    const hopeless = !headers && candidates.every(set => set !== null && !set.has(body))
    answers.push(hopeless && !task.long ? 0 : await scanOne(scan, body, prefix))
  }
  return answers
}

async function scanOne(scan: Scan, num: number, prefix: string): Promise<number> {
  const { read, bodies, needles } = scan
  const row = read.one<{ detail: string }>('SELECT detail FROM outline WHERE body = ?', num)
  if (row === undefined) return 0
  const detail = JSON.parse(row.detail) as StoredDetail
  const body = bodies.open(num)
  let bits = 0
  if (scan.headers) {
    const block = await body.read(0, Math.min(detail.headerSize, limits.mime.headerBytesMax))
    bits = headerBits(Buffer.concat([Buffer.from(prefix), block]), needles)
  }
  let text: string | undefined
  for (const [at, needle] of needles.entries()) {
    if (needle.header || (bits & (1 << at)) !== 0 || !mayHave(scan, at, num, detail)) continue
    text ??= squeeze(
      (await readText(detail.texts, (start, end) => body.read(start, end), limits.imap.scanBytesMax)).text,
    )
    if (text.includes(squeeze(needle.text))) bits |= 1 << at
  }
  return bits
}

/** Whether the text of a body can have a needle. The index holds only so much of long texts. */
function mayHave(scan: Scan, at: number, num: number, detail: StoredDetail): boolean {
  const candidates = scan.candidates[at]
  if (candidates == null || candidates.has(num)) return true
  return detail.texts.reduce((sum, part) => sum + part.end - part.start, 0) > limits.mime.textBytesMax
}

function headerBits(block: Buffer, needles: readonly Needle[]): number {
  const header = new Header(block)
  let whole: string | undefined
  let bits = 0
  for (const [at, needle] of needles.entries()) {
    if (needle.header) {
      if (header.all(needle.where).some(value => fold(value).includes(needle.text))) bits |= 1 << at
    } else if (needle.where === 'text') {
      whole ??= fold(header.fields.map(field => `${field.name}: ${decodeWords(header.value(field))}`).join('\n'))
      if (whole.includes(needle.text)) bits |= 1 << at
    }
  }
  return bits
}
