// The list of what arrived as REST: lines of a page of it, found by a search, marked, tagged and forgotten together; and one mail
// released, or an attachment of it looked at.
//
// A list of any length costs the lines that are asked for: what is counted and searched was worked out when the mails arrived.

import { limits } from '#lib/limits.ts'
import type { Entry } from '#testing/arrived/journal.ts'
import { type Answer, type Call, invalid, json, missing, type Route, Unwelcome } from '../exchange.ts'
import { numberOf } from '../filter.ts'
import type { Release } from '../out/release.ts'
import { parseSearch } from './search.ts'
import { countTags, type Shelf, type Shelved } from './shelf.ts'

export interface ShelfDeps {
  readonly shelf: Shelf
  /** Undefined: nothing is released. */
  readonly release: Release | undefined
}

const done = json({ success: true })

export function shelfRoutes({ shelf, release }: ShelfDeps): Route[] {
  const entryOf = ({ params: { id = '' } }: Call): Entry => {
    const found = shelf.find(id)
    if (found === undefined) throw missing(`mail ${id}`)
    return found
  }
  return [
    { method: 'GET', path: '/lines', run: call => lines(shelf, call) },
    {
      method: 'PUT',
      path: '/mails',
      run: async call => {
        const body = await call.object()
        const ids = await chosen(shelf, body)
        const { read, tags } = body
        if (read !== undefined && typeof read !== 'boolean') throw invalid('read is true or false')
        if (read !== undefined) shelf.mark(ids, read)
        if (tags !== undefined) shelf.tag(ids, textsOf('tags', tags))
        return json({ success: true, mails: ids.length })
      },
    },
    {
      method: 'DELETE',
      path: '/mails',
      run: async call => {
        const inbox = call.query.get('inbox')
        const body = await call.object()
        if (inbox !== null) await shelf.mailbox(inbox).clear()
        else if (Object.keys(body).length > 0) shelf.forget(new Set(await chosen(shelf, body)))
        else shelf.clear()
        return done
      },
    },
    {
      method: 'POST',
      path: '/mails/:id/release',
      run: async call => {
        const entry = entryOf(call)
        await released(release, entry, (await call.object()).to)
        return done
      },
    },
    { method: 'GET', path: '/mails/:id/attachments/:at/preview', run: async call => preview(entryOf(call), call) },
  ]
}

/** @throws Unwelcome where nothing is released, or not to those */
export async function released(release: Release | undefined, entry: Entry, to: unknown): Promise<void> {
  if (release === undefined)
    throw new Unwelcome(
      409,
      'NoRelease',
      'Mail stays here: --release-url and --release-to name a server and whom it may go to',
    )
  await release.send(entry.facts.envelope.from, textsOf('to', to), (await entry.mail()).raw)
}

async function lines(shelf: Shelf, { query }: Call): Promise<Answer> {
  const limit = Math.min(numberOf('limit', query.get('limit') ?? limits.dev.linesMax), limits.dev.linesMax)
  const all = await shelf.all()
  const asked = query.get('query')?.trim() ?? ''
  const found = asked === '' ? all : all.filter(parseSearch(asked))
  const askedFor = query.get('place')
  const placeOf = (id: string) => found.findIndex(({ entry }) => entry.facts.id === id)
  const start = Math.max(0, numberOf('start', query.get('start') ?? 0) + movedBy(query, placeOf))
  return json({
    ...{ total: all.length, unread: all.filter(({ read }) => !read).length, found: found.length },
    ...(askedFor !== null && { place: shelf.find(askedFor) === undefined ? null : placeOf(askedFor) }),
    ...{ start, tags: countTags(all), lines: found.slice(start, start + limit).map(lineOf) },
  })
}

/** By how many places the lines have moved that somebody looks at: `near` names them, the first of which was at `was`. */
function movedBy(query: URLSearchParams, placeOf: (id: string) => number): number {
  const near = query.get('near')?.split(',').slice(0, limits.dev.linesMax) ?? []
  const was = numberOf('was', query.get('was') ?? 0)
  for (const [at, id] of near.entries()) {
    const place = placeOf(id)
    if (place >= 0) return place - was - at
  }
  return 0
}

export function lineOf({ card, read, tags }: Shelved): object {
  return { ...card.line, read, tags }
}

/** Those that a body names: by `ids`, or by a `query`. */
async function chosen(shelf: Shelf, { ids, query }: Readonly<Record<string, unknown>>): Promise<string[]> {
  if (ids !== undefined) return textsOf('ids', ids)
  if (typeof query !== 'string' || query.trim() === '') throw invalid('ids is a list, or query a search')
  return (await shelf.all()).filter(parseSearch(query)).map(({ entry }) => entry.facts.id)
}

export function textsOf(name: string, value: unknown): string[] {
  if (!Array.isArray(value) || value.some(one => typeof one !== 'string')) throw invalid(`${name} is a list of texts`)
  return value
}

/** Kinds that show themselves and do nothing; text is shown as such whatever it says. */
const shownTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'])

async function preview(entry: Entry, { params: { at } }: Call): Promise<Answer> {
  const found = (await entry.mail()).attachments[Number(at)]
  if (found === undefined) throw missing(`attachment ${at}`)
  const type = found.contentType.toLowerCase()
  if (shownTypes.has(type)) return { type, body: found.content }
  if (!/^(text\/|application\/(json|xml)$|message\/)/.test(type))
    throw new Unwelcome(415, 'NotShown', `${type} is not shown; it can be downloaded`)
  return { type: 'text/plain; charset=utf-8', body: found.content.subarray(0, limits.dev.previewBytesMax) }
}
