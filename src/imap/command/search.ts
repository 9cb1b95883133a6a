// SEARCH, SORT and THREAD with their extended answers (RFC 9051 6.4.4, RFC 4731, 5182, 5256, 5267 ESORT's RETURN).
//
// What is found is true of one view: nothing may renumber messages while a search runs. Each form of the answer is
// written from the same list of what was found.

import { limits } from '#lib/limits.ts'
import { formatRanges } from '#mail/numbers.ts'
import { eachLeaf, isTextLeaf, someLeaf } from '#mail/query/query.ts'
import type { SortKey, ThreadTask } from '#store/search/arrange.ts'
import { command, type Done, inMailbox } from '../command.ts'
import { asksModseq, type Key, parseKeys, requireCharset } from '../search/criteria.ts'
import { type Found, find } from '../search/find.ts'
import { parseSort, sortFound, threadFound, writePieces } from '../search/order.ts'
import type { View } from '../selected/view.ts'
import type { Session } from '../session.ts'
import { type Decoder, malformed } from '../wire/decoder.ts'

interface SearchInput {
  /** As named; it may be unknown. */
  readonly charset: string | undefined
  readonly key: Key
  /** Undefined for the old form of the answer. */
  readonly returns: ReadonlySet<string> | undefined
}

const returnable = new Set(['MIN', 'MAX', 'ALL', 'COUNT', 'SAVE'])

const search = command({
  name: 'SEARCH',
  states: inMailbox,
  uid: true,
  expunges: 'uid',
  capabilities: ['ESEARCH', 'SEARCHRES', 'WITHIN'],
  parse(decoder): SearchInput {
    decoder.space()
    const returns = parseReturn(decoder)
    let charset: string | undefined
    if (decoder.accept('CHARSET')) {
      decoder.space()
      charset = decoder.astring()
      decoder.space()
    }
    return { charset, key: checked(parseKeys(decoder, charset)), returns }
  },
  async run(session, input, byUid) {
    if (input.charset !== undefined && session.utf8Only) throw malformed('No CHARSET with UTF8=ACCEPT')
    const view = session.selected
    await answer(session, view, input, await look(session, view, input), byUid)
    return numbered(input.key)
  },
})

const sort = command({
  name: 'SORT',
  states: inMailbox,
  uid: true,
  expunges: 'uid',
  capabilities: ['SORT', 'SORT=DISPLAY', 'ESORT'],
  parse(decoder): SearchInput & { keys: SortKey[] } {
    decoder.space()
    const returns = parseReturn(decoder)
    const keys = parseSort(decoder)
    decoder.space()
    const charset = decoder.astring()
    decoder.space()
    return { charset, key: checked(parseKeys(decoder, charset)), returns, keys }
  },
  async run(session, input, byUid) {
    const view = session.selected
    const { key, returns, keys } = input
    const found = await saving(view, returns, async () => sortFound(session, await look(session, view, input), keys))
    if (returns !== undefined) await answer(session, view, input, found, byUid)
    else await writePieces(session, '* SORT', numbers(found, byUid, modseqOf(key, found)))
    return numbered(key)
  },
})

const thread = command({
  name: 'THREAD',
  states: inMailbox,
  uid: true,
  expunges: 'uid',
  capabilities: ['THREAD=ORDEREDSUBJECT', 'THREAD=REFERENCES'],
  parse(decoder) {
    decoder.space()
    const algorithm = parseAlgorithm(decoder)
    decoder.space()
    const charset = decoder.astring()
    decoder.space()
    return { algorithm, charset, key: checked(parseKeys(decoder, charset)), returns: undefined }
  },
  async run(session, input, byUid) {
    const { algorithm } = input
    const found = await look(session, session.selected, input)
    const pieces = await threadFound(session, found, algorithm, one => (byUid ? one.uid : one.seq))
    await writePieces(session, '* THREAD', pieces)
    return numbered(input.key)
  },
})

export const searchCommands = [search, sort, thread]

function parseReturn(decoder: Decoder): ReadonlySet<string> | undefined {
  if (!decoder.accept('RETURN')) return undefined
  decoder.space()
  const options = decoder.list(() => decoder.word(), returnable.size)
  decoder.space()
  for (const option of options) if (!returnable.has(option)) throw malformed('Unknown result option')
  // RFC 4731 3.1: an empty list means ALL.
  return new Set(options.length === 0 ? ['ALL'] : options)
}

function parseAlgorithm(decoder: Decoder): ThreadTask['algorithm'] {
  const word = decoder.word()
  if (word !== 'ORDEREDSUBJECT' && word !== 'REFERENCES') throw malformed('Unknown algorithm')
  return word
}

/** Text criteria are answered by bits. */
function checked(key: Key): Key {
  if ([...eachLeaf(key)].filter(isTextLeaf).length > limits.imap.searchTextsMax)
    throw malformed('Too many text criteria')
  return key
}

/** What is found, in the order of the view. @throws Fault BadCommand, UnknownCharset, and whatever a search fails for */
async function look(session: Session, view: View, { key, charset, returns }: SearchInput): Promise<Found[]> {
  if (asksModseq(key)) session.enable('CONDSTORE')
  return saving(view, returns, async () => {
    if (charset !== undefined) requireCharset(charset)
    return find(session, view, key)
  })
}

/** RFC 5182 2.1: a search that is answered NO leaves nothing saved; one that makes no sense changes nothing. */
async function saving<T>(view: View, returns: SearchInput['returns'], task: () => Promise<T>): Promise<T> {
  try {
    return await task()
  } catch (error) {
    if (returns?.has('SAVE')) view.saved = []
    throw error
  }
}

/** Whether messages were named by their numbers, which `$` is not. */
function numbered(key: Key): Done | undefined {
  return someLeaf(key, leaf => leaf.op === 'set' && !leaf.byUid && leaf.set.some(item => item !== 'saved'))
    ? { numbered: true }
    : undefined
}

function* numbers(found: readonly Found[], byUid: boolean, end: string): Generator<string> {
  for (const one of found) yield ` ${byUid ? one.uid : one.seq}`
  yield end
}

/** The answer in the form that was asked for; `found` in the order it is to be shown. */
async function answer(
  session: Session,
  view: View,
  { key, returns }: SearchInput,
  found: readonly Found[],
  byUid: boolean,
): Promise<void> {
  const number = (one: Found) => (byUid ? one.uid : one.seq)
  if (returns === undefined && !session.rev2) {
    await writePieces(session, '* SEARCH', numbers(found, byUid, modseqOf(key, found)))
    return
  }
  const options = returns ?? new Set(['ALL'])
  if (options.has('SAVE')) view.saved = savedOf(options, found)
  // RFC 5182 2.3: with SAVE alone nothing is said.
  if (options.size === 1 && options.has('SAVE')) return
  const [first, last] = [found[0], found.at(-1)]
  let text = `* ESEARCH (TAG ${session.tagText})${byUid ? ' UID' : ''}`
  if (options.has('MIN') && first !== undefined) text += ` MIN ${number(first)}`
  if (options.has('MAX') && last !== undefined) text += ` MAX ${number(last)}`
  if (options.has('ALL') && found.length > 0) text += ` ALL ${inOrder(found.map(number))}`
  if (options.has('COUNT')) text += ` COUNT ${found.length}`
  if (asksModseq(key) && found.length > 0) text += ` MODSEQ ${highest(reported(options, found))}`
  session.out.line(text)
}

/** Numbers in this order as a set (RFC 5267 3): only what rises one by one is written as a range. */
function inOrder(numbers: readonly number[]): string {
  const ranges: [number, number][] = []
  for (const number of numbers) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] + 1 === number) last[1] = number
    else ranges.push([number, number])
  }
  return formatRanges(ranges)
}

/** RFC 5182 2.4: with MIN or MAX, and neither ALL nor COUNT, only those are saved. */
function savedOf(options: ReadonlySet<string>, found: readonly Found[]): number[] {
  return reported(options, found)
    .map(one => one.uid)
    .sort((left, right) => left - right)
}

function reported(options: ReadonlySet<string>, found: readonly Found[]): readonly Found[] {
  if (options.has('ALL') || options.has('COUNT') || !(options.has('MIN') || options.has('MAX'))) return found
  const [first, last] = [found[0], found.at(-1)]
  const some = [...(options.has('MIN') && first ? [first] : []), ...(options.has('MAX') && last ? [last] : [])]
  return [...new Set(some)]
}

/** RFC 7162 3.1.5: the highest change number of what was found. */
function modseqOf(key: Key, found: readonly Found[]): string {
  if (!asksModseq(key) || found.length === 0) return ''
  return ` (MODSEQ ${highest(found)})`
}

function highest(found: readonly Found[]): number {
  return found.reduce((most, one) => Math.max(most, one.modseq), 0)
}
