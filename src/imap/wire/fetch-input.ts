// What a client asks of FETCH, as it was parsed (RFC 9051 6.4.5, RFC 7162 3.1.4 and 3.2.6).
//
// Promises: items that ask for the same are one. What follows the set of messages is parsed once and remembered by its text: programs
// ask in the same words for each message, and what they mean depends on nothing else.

import { limits } from '#lib/limits.ts'
import { remember } from '#lib/memoize.ts'
import { type Decoder, malformed, type NumberSet } from './decoder.ts'
import { type FetchItem, fetchItem } from './item.ts'

export interface FetchInput {
  readonly set: NumberSet
  readonly items: readonly FetchItem[]
  readonly changedSince: number
  readonly vanished: boolean
}

type Asked = Omit<FetchInput, 'set'>

/** What programs ask for of each message, as they write it: a few texts, again and again. */
const asked = new Map<string, Asked>()

export function parseFetch(decoder: Decoder): FetchInput {
  decoder.space()
  const set = decoder.numberSet()
  decoder.space()
  const text = decoder.ahead()
  const known = text === undefined ? undefined : asked.get(text)
  if (known !== undefined) return { set, ...known }
  const fresh = parseAsked(decoder)
  if (text !== undefined && text.length <= limits.imap.askedLengthMax)
    remember(asked, text, fresh, limits.imap.askedMax)
  return { set, ...fresh }
}

function parseAsked(decoder: Decoder): Asked {
  const items = parseItems(decoder)
  if (items.length === 0) throw malformed('Nothing to fetch')
  let changedSince = 0
  let vanished = false
  if (decoder.more()) {
    decoder.list(() => {
      const modifier = decoder.word()
      if (modifier === 'CHANGEDSINCE') {
        decoder.space()
        changedSince = decoder.number64()
        if (changedSince === 0) throw malformed('CHANGEDSINCE needs a number above 0')
      } else if (modifier === 'VANISHED') vanished = true
      else throw malformed('Unknown modifier of FETCH')
    })
    if (vanished && changedSince === 0) throw malformed('VANISHED needs CHANGEDSINCE')
  }
  decoder.end()
  return { items, changedSince, vanished }
}

/** An item without blanks, lists and literals. */
const plainItem = /[A-Za-z0-9.]+(?:\[[^\]\s(){}"\\]*\](?:<[0-9.]+>)?)?(?= [^(]|\))/y

/** What is asked for again in the same words is passed over: thousands of items may be one. */
function parseItems(decoder: Decoder): FetchItem[] {
  const items = new DifferentItems()
  if (decoder.peek() !== '(') for (const item of fetchItem(decoder, true)) items.add(item)
  else {
    const said = new Set<string>()
    decoder.list(() => {
      const text = decoder.upcoming(plainItem)
      if (said.has(text)) return decoder.accept(text)
      if (text !== '') said.add(text)
      for (const item of fetchItem(decoder, false)) items.add(item)
    })
  }
  return items.all
}

/** Items that ask for the same are one, which marks the message as seen where one of them does. */
class DifferentItems {
  readonly #items = new Map<FetchItem | string, FetchItem>()
  #sections = 0

  /** @throws Fault BadCommand for more sections than any program asks for */
  add(item: FetchItem): void {
    const key = keyOf(item)
    const there = this.#items.get(key)
    if (there === undefined && typeof key === 'string' && ++this.#sections > limits.imap.sectionsMax)
      throw malformed(`More than ${limits.imap.sectionsMax} sections in one FETCH`)
    if (there === undefined || (isSection(there) && isSection(item) && !item.peek)) this.#items.set(key, item)
  }

  get all(): FetchItem[] {
    return [...this.#items.values()]
  }
}

/** The same for what is answered alike; an item without a section is itself. */
function keyOf(item: FetchItem): FetchItem | string {
  if (!('section' in item)) return item
  const { label, partial } = item.section
  return `${'label' in item ? item.label : item.kind} ${label} ${partial?.join() ?? ''}`
}

function isSection(item: FetchItem): item is FetchItem & { kind: 'section' | 'binary' } {
  return item.kind === 'section' || item.kind === 'binary'
}
