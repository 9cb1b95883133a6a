// Looking into many messages of one folder at once, for what only their bytes tell (mail/query: `content` and `header`).
//
// Heavy: it belongs on a thread for long reads, where it works in slices. The index says which texts cannot have a needle; headers
// are not in it, so their bytes are looked at before any is taken apart. Messages are read some at a time and a large one
// in pieces of bounded size, so neither a large one nor many cost memory. What a leaf means is texts.ts's to tell.

import assert from 'node:assert'
import { monotonic } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Slices } from '#lib/pace.ts'
import type { TextLeaf } from '#mail/query/query.ts'
import { readBodies } from '../bodies/format/run.ts'
import { among } from '../engine/dialect.ts'
import type { StoredDetail } from '../mailboxes/outlines.ts'
import type { SearchCache } from './cache.ts'
import { askIndex, looksAtHeaders, maySay } from './plan.ts'
import { MessageText, type OpenBody, type SearchScope, type TextCache } from './texts.ts'
import type { Index } from './trigrams.ts'

export interface ScanTask {
  /** Bodies of the messages. */
  readonly bodies: readonly number[]
  /** The header lines on top of each; not looked at where no leaf looks at headers. */
  readonly prefixes: readonly string[]
  /** Number of the account. */
  readonly user: number
  /** At most limits.imap.searchTextsMax. */
  readonly leaves: readonly TextLeaf[]
}

interface Scan {
  readonly scope: SearchScope
  readonly index: Index
  readonly leaves: readonly TextLeaf[]
  readonly slices: Slices
  /** Where texts are kept that are looked into. */
  readonly texts: TextCache | undefined
}

/** A message that is still to be looked at. */
interface Open {
  /** Its place in the task. */
  readonly at: number
  readonly num: number
  readonly prefix: string
}

/** Messages whose bodies are read in one go. */
const batch = 50

/** An answer has a bit for each leaf, and the sign is none. */
assert(limits.imap.searchTextsMax < 31, 'leaves are counted in the bits of a whole number')

/**
 * For each message a bit for each leaf that holds; only for the first ones where all of them take longer than
 * limits.search.scanMs. White space is flexible in texts, case does not matter.
 */
export async function scanTexts(
  scope: SearchScope,
  cache: SearchCache,
  task: ScanTask,
  slices: Slices,
): Promise<number[]> {
  const started = monotonic()
  const { leaves } = task
  const index = await cache.index(scope.read, task.user)
  await askIndex(
    index,
    leaves.filter(({ op }) => op === 'content'),
  )
  const headers = leaves.some(looksAtHeaders)
  const answers = task.bodies.map(() => 0)
  const open: Open[] = []
  for (const [at, num] of task.bodies.entries()) {
    if (headers || leaves.some(leaf => maySay(index, leaf, num))) {
      open.push({ at, num, prefix: task.prefixes[at] ?? '' })
    }
  }
  const texts = open.length <= limits.search.keptMax ? cache.texts : undefined
  const scan: Scan = { scope, index, leaves, slices, texts }
  for (let at = 0; at < open.length; at += batch) {
    if (at > 0 && monotonic() - started > limits.search.scanMs) return answers.slice(0, open[at]?.at)
    await scanSome(scan, open.slice(at, at + batch), answers)
    if (slices.spent) await slices.turn()
  }
  return answers
}

async function scanSome(scan: Scan, some: readonly Open[], answers: number[]): Promise<void> {
  const { index, leaves } = scan
  const { read } = scan.scope
  const opened = await readBodies(
    read,
    some.map(({ num }) => num),
  )
  const likely = some.filter(({ num, prefix }) => {
    const body = opened.get(num)
    if (body === undefined || leaves.some(leaf => maySay(index, leaf, num))) return true
    return mayStand(body, prefix, leaves)
  })
  const details = new Map(
    await read.arrays<[number, string]>(
      `SELECT body, detail FROM outline WHERE body IN ${among()}`,
      JSON.stringify(likely.map(({ num }) => num)),
    ),
  )
  for (const { at, num, prefix } of likely) {
    const detail = details.get(num)
    // A message that went meanwhile has no text.
    if (detail === undefined) continue
    if (scan.slices.spent) await scan.slices.turn()
    const stored = { num, prefix, detail: JSON.parse(detail) as StoredDetail, body: opened.get(num) }
    answers[at] = await scanOne(scan, new MessageText(scan.scope, scan.texts, stored), num)
  }
}

async function scanOne({ leaves, index }: Scan, message: MessageText, num: number): Promise<number> {
  let bits = 0
  for (const [at, leaf] of leaves.entries()) {
    if (await message.holds(leaf, maySay(index, leaf, num))) bits |= 1 << at
  }
  return bits
}

/** What means nothing else in a header than itself, wherever it stands there. */
const plainNeedle = /^[!-9;-~]*$/

/**
 * Whether one of the needles may stand in the header. Most headers are plain and most needles a word, which then stands in
 * the bytes or nowhere.
 */
function mayStand(body: OpenBody, prefix: string, leaves: readonly TextLeaf[]): boolean {
  const bytes = body.read(0, limits.mime.headerBytesMax)
  if (bytes instanceof Promise) return true
  const end = Math.min(placeOf(bytes, '\n\r\n'), placeOf(bytes, '\n\n'))
  const header = prefix + bytes.toString('latin1', 0, end)
  // Parts have header fields, too, and lie anywhere in the body.
  const wide =
    leaves.some(leaf => leaf.op === 'content' && leaf.in === 'text') &&
    /^content-type:\s*(?:multipart|message)/im.test(header)
  if (wide && bytes.length < body.size) return true
  const block = (wide ? header + bytes.toString('latin1', end) : header).toLowerCase()
  if (/=\?|[^\t\n\r -~]/.test(block)) return true
  return leaves.some(leaf => {
    if (!looksAtHeaders(leaf) || (leaf.op === 'header' && !block.includes(leaf.name))) return false
    return !plainNeedle.test(leaf.needle) || block.includes(leaf.needle)
  })
}

function placeOf(bytes: Buffer, mark: string): number {
  const place = bytes.indexOf(mark, 0, 'latin1')
  return place < 0 ? bytes.length : place + 1
}
