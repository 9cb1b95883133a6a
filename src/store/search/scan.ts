// Looking for text in stored messages: decoded, case folded, substrings (RFC 9051 6.4.4 BODY, TEXT, HEADER).
//
// Heavy: it belongs on a thread for long reads, where it works in slices. The index says which texts cannot have a needle; headers
// are not in it, so their bytes are looked at before any is taken apart. Messages are read some at a time and a large one
// in pieces of bounded size, so neither a large one nor many cost memory. What a message says is said.ts's to tell, messages
// within it included; TEXT also looks at every header field of it and of its parts, and at the names of attachments.

import { monotonic } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Slices } from '#lib/pace.ts'
import { Header } from '#mail/header/header.ts'
import { decodeWords } from '#mail/header/words.ts'
import type { ReadRange } from '#mail/mime/decode.ts'
import { fold, squeeze } from '#mail/text/fold.ts'
import { hasParts, type Parts, readParts, readSaid } from '#mail/text/said.ts'
import { readBodies } from '../bodies/format/run.ts'
import type { Reader } from '../engine/reader.ts'
import type { StoredDetail } from '../mailboxes/outlines.ts'
import { attachedHeads, candidateBodies } from './trigrams.ts'

export interface Needle {
  /** `body`, `text`, or with `header` the name of a header field in lower case. */
  readonly where: string
  /** Folded: lower case, NFC. An empty one is everywhere, and in a header field that is there. */
  readonly text: string
  readonly header: boolean
}

export interface ScanTask {
  /** Bodies of the messages. */
  readonly bodies: readonly number[]
  /** The header lines on top of each; not looked at where no needle is looked for in headers. */
  readonly prefixes: readonly string[]
  /** Number of the account. */
  readonly user: number
  /** Some of the messages may be longer than what the index holds of them. */
  readonly long: boolean
  /** At most 31. */
  readonly needles: readonly Needle[]
}

/** Bytes of a body; what `Bodies.open` gives. */
export interface Openable {
  open(num: number): OpenBody
}

interface OpenBody {
  readonly size: number
  read(start?: number, end?: number): Buffer | Promise<Buffer>
}

interface Scan {
  readonly read: Reader
  readonly bodies: Openable
  readonly needles: readonly Needle[]
  /** Some needle is looked for in headers. */
  readonly headers: boolean
  /** For each needle, the bodies whose text may have it; null where the index cannot tell. */
  readonly candidates: Candidates
  readonly slices: Slices
}

type Candidates = readonly (ReadonlySet<number> | null)[]

/** A message that is still to be looked at. */
interface Open {
  /** Its place in the task. */
  readonly at: number
  readonly num: number
  readonly prefix: string
}

/** Messages whose bodies are read in one go. */
const batch = 50

/**
 * For each message a bit for each needle that was found; only for the first ones where all of them take longer than
 * limits.search.scanMs. White space is flexible in texts, case does not matter.
 */
export async function scanTexts(read: Reader, bodies: Openable, task: ScanTask, slices: Slices): Promise<number[]> {
  const started = monotonic()
  const { needles } = task
  const headers = needles.some(needle => needle.header || needle.where === 'text')
  const scan: Scan = { read, bodies, needles, headers, candidates: candidatesOf(read, task), slices }
  const answers = task.bodies.map(() => 0)
  const open: Open[] = []
  for (const [at, num] of task.bodies.entries()) {
    const hopeless = !headers && !task.long && scan.candidates.every(set => set !== null && !set.has(num))
    if (!hopeless) open.push({ at, num, prefix: task.prefixes[at] ?? '' })
  }
  for (let at = 0; at < open.length; at += batch) {
    if (at > 0 && monotonic() - started > limits.search.scanMs) return answers.slice(0, open[at]?.at)
    await scanSome(scan, task.long, open.slice(at, at + batch), answers)
    if (slices.spent) await slices.turn()
  }
  return answers
}

/** What the index said lately: the messages of a folder come in several tasks, between those of others. */
const known = new Map<string, Candidates>()

function candidatesOf(read: Reader, { user, needles }: ScanTask): Candidates {
  const modseq = read.one<{ modseq: number }>('SELECT modseq FROM usage WHERE user = ?', user)?.modseq ?? 0
  const key = JSON.stringify([user, modseq, needles])
  const sets = known.get(key) ?? needles.map(({ header, text }) => (header ? null : candidateBodies(read, user, text)))
  // To the end: the one that was not asked for longest goes first.
  known.delete(key)
  known.set(key, sets)
  for (const oldest of known.keys()) {
    if (known.size <= limits.pool.readAccounts) break
    known.delete(oldest)
  }
  return sets
}

async function scanSome(scan: Scan, long: boolean, some: readonly Open[], answers: number[]): Promise<void> {
  const opened = readBodies(
    scan.read,
    some.map(({ num }) => num),
  )
  const likely = some.filter(one => {
    const body = opened.get(one.num)
    if (long || body === undefined || scan.candidates.some((set, at) => mayMatter(scan, at, set, one.num))) return true
    return mayStand(body, one.prefix, scan.needles)
  })
  const details = new Map(
    scan.read.arrays<[number, string]>(
      'SELECT body, detail FROM outline WHERE body IN (SELECT value FROM json_each(?))',
      JSON.stringify(likely.map(({ num }) => num)),
    ),
  )
  for (const { at, num, prefix } of likely) {
    const detail = details.get(num)
    // A message that went meanwhile has no text.
    if (detail === undefined) continue
    if (scan.slices.spent) await scan.slices.turn()
    const body = opened.get(num) ?? scan.bodies.open(num)
    answers[at] = await scanOne(scan, JSON.parse(detail) as StoredDetail, body, num, prefix)
  }
}

/** Whether the text of a body may have the needle at that place. */
function mayMatter({ needles }: Scan, at: number, set: ReadonlySet<number> | null, num: number): boolean {
  return needles[at]?.header === false && (set === null || set.has(num))
}

/** What means nothing else in a header than itself, wherever it stands there. */
const plainNeedle = /^[!-9;-~]*$/

/**
 * Whether one of the needles may stand in the header. Most headers are plain and most needles a word, which then stands in
 * the bytes or nowhere.
 */
function mayStand(body: OpenBody, prefix: string, needles: readonly Needle[]): boolean {
  const bytes = body.read(0, limits.mime.headerBytesMax)
  if (bytes instanceof Promise) return true
  const end = Math.min(placeOf(bytes, '\n\r\n'), placeOf(bytes, '\n\n'))
  const header = prefix + bytes.toString('latin1', 0, end)
  // Parts have header fields, too, and lie anywhere in the body.
  const wide = needles.some(({ where }) => where === 'text') && /^content-type:\s*(?:multipart|message)/im.test(header)
  if (wide && bytes.length < body.size) return true
  const block = (wide ? header + bytes.toString('latin1', end) : header).toLowerCase()
  if (/=\?|[^\t\n\r -~]/.test(block)) return true
  return needles.some(({ where, text, header }) => {
    if (header && !block.includes(where)) return false
    return (header || where === 'text') && (!plainNeedle.test(text) || block.includes(text))
  })
}

function placeOf(bytes: Buffer, mark: string): number {
  const place = bytes.indexOf(mark, 0, 'latin1')
  return place < 0 ? bytes.length : place + 1
}

async function scanOne(scan: Scan, detail: StoredDetail, body: OpenBody, num: number, prefix: string): Promise<number> {
  const { needles } = scan
  let bits = 0
  if (scan.headers) {
    const block = await body.read(0, Math.min(detail.headerSize, limits.mime.headerBytesMax))
    bits = headerBits(Buffer.concat([Buffer.from(prefix), block]), detail.texts[0]?.charset, needles)
  }
  const inside = new Inside(detail, body)
  for (const [at, needle] of needles.entries()) {
    if (needle.header || (bits & (1 << at)) !== 0) continue
    const squeezed = squeeze(needle.text)
    const candidates = scan.candidates[at]
    const mayBeSaid = candidates == null || candidates.has(num)
    if (
      (mayBeSaid && (await inside.said()).includes(squeezed)) ||
      (needle.where === 'text' && (await inside.heads()).includes(squeezed))
    ) {
      bits |= 1 << at
    }
  }
  return bits
}

/** What is in a message below its header, squeezed, read when it is asked for. */
class Inside {
  readonly #detail: StoredDetail
  readonly #read: ReadRange
  #parts: Parts | undefined
  #said: string | undefined
  #heads: string | undefined

  constructor(detail: StoredDetail, body: OpenBody) {
    this.#detail = detail
    this.#read = (start, end) => body.read(start, end)
  }

  async said(): Promise<string> {
    this.#said ??= squeeze((await readSaid(await this.#all(), this.#read, limits.imap.scanBytesMax)).text)
    return this.#said
  }

  /** Header fields of parts and of messages within, and names of attachments. */
  async heads(): Promise<string> {
    if (this.#heads === undefined) {
      const { index, attachments } = this.#detail
      const parts = hasParts(index) || attachments.length > 0 ? await this.#all() : undefined
      this.#heads =
        parts === undefined
          ? ''
          : squeeze([...parts.headers.flatMap(linesOf), ...parts.names, attachedHeads(parts)].join('\n'))
    }
    return this.#heads
  }

  async #all(): Promise<Parts> {
    this.#parts ??= await readParts(this.#detail, this.#read)
    return this.#parts
  }
}

function headerBits(block: Buffer, charset: string | undefined, needles: readonly Needle[]): number {
  const header = new Header(block, charset)
  let whole: string | undefined
  let bits = 0
  for (const [at, needle] of needles.entries()) {
    if (needle.header) {
      if (header.all(needle.where).some(value => fold(value).includes(needle.text))) bits |= 1 << at
    } else if (needle.where === 'text') {
      whole ??= fold(linesOf(header).join('\n'))
      if (whole.includes(needle.text)) bits |= 1 << at
    }
  }
  return bits
}

/** Every field as `Name: value`, decoded. */
function linesOf(header: Header): string[] {
  return header.lines.map(decodeWords)
}
