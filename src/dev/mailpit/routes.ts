// The common calls of Mailpit's API, with the shapes of its documentation, so that tests written for it go on here.
//
// Not here: thumbnails, and events over WebSocket. A list of message IDs that names none means all of them, as documented.

import { dispositionOf } from '#http/api/messages/disposition.ts'
import { now } from '#lib/clock.ts'
import { newId } from '#lib/id.ts'
import { escapeHtml } from '#mail/text/html.ts'
import type { Host } from '#testing/host.ts'
import { type Answer, type Call, invalid, json, missing, type Route, text, Unwelcome } from '../exchange.ts'
import { safeHtml } from '../html/safe.ts'
import type { Release } from '../out/release.ts'
import { parseSearch } from '../shelf/search.ts'
import { countTags, type Shelf, type Shelved } from '../shelf/shelf.ts'
import { chaosRoutes, entryOf, outwardRoutes, tagRoutes } from './more.ts'
import { headers, message, summary } from './shape.ts'

export interface MailpitDeps {
  readonly host: Host
  readonly shelf: Shelf
  readonly release: Release | undefined
  readonly version: string
}

export function mailpitRoutes(deps: MailpitDeps): Route[] {
  return [
    ...listRoutes(deps),
    ...messageRoutes(deps),
    ...tagRoutes(deps),
    ...chaosRoutes(deps),
    ...outwardRoutes(deps),
    ...otherRoutes(deps),
  ]
}

/** How many a list has, where nothing is said. */
const pageLength = 50

function listRoutes({ shelf }: MailpitDeps): Route[] {
  const page = async ({ query }: Call, judge?: (one: Shelved) => boolean): Promise<Answer> => {
    const all = await shelf.all()
    const found = judge === undefined ? all : all.filter(judge)
    const start = whole(query.get('start'), 0)
    const limit = whole(query.get('limit'), pageLength)
    const shown = found.slice(start, limit === 0 ? undefined : start + limit)
    const messages = await Promise.all(shown.map(async one => summary(one, await one.entry.mail())))
    const unread = (list: readonly Shelved[]) => list.filter(({ read }) => !read).length
    return json({
      ...{ total: all.length, unread: unread(all), count: messages.length },
      ...{ messages_count: found.length, messages_unread: unread(found) },
      ...{ start, tags: countTags(all).map(({ name }) => name), messages },
    })
  }
  const searching = ({ query }: Call) => {
    const asked = query.get('query')?.trim() ?? ''
    if (asked === '') throw invalid('no search query')
    return parseSearch(asked)
  }
  const idsOf = async (judge: (one: Shelved) => boolean) =>
    (await shelf.all()).filter(judge).map(({ entry }) => entry.facts.id)
  return [
    { method: 'GET', path: '/api/v1/messages', run: call => page(call) },
    { method: 'GET', path: '/api/v1/search', run: call => page(call, searching(call)) },
    {
      method: 'DELETE',
      path: '/api/v1/search',
      run: async call => {
        shelf.forget(new Set(await idsOf(searching(call))))
        return text('ok')
      },
    },
    {
      method: 'DELETE',
      path: '/api/v1/messages',
      run: async call => {
        const ids = namedIn(await call.object())
        if (ids.length === 0) shelf.clear()
        else shelf.forget(new Set(ids))
        return text('ok')
      },
    },
    {
      method: 'PUT',
      path: '/api/v1/messages',
      run: async call => {
        const body = await call.object()
        const { Read = false, Search = '' } = body as { Read?: unknown; Search?: unknown }
        const ids = namedIn(body)
        const judge = typeof Search === 'string' && Search !== '' ? parseSearch(Search) : () => true
        shelf.mark(ids.length > 0 ? ids : await idsOf(judge), Read === true)
        return text('ok')
      },
    },
  ]
}

function whole(value: string | null, initial: number): number {
  const number = value === null ? initial : Number(value)
  return Number.isInteger(number) && number >= 0 ? number : initial
}

function namedIn({ IDs = [] }: Readonly<Record<string, unknown>>): string[] {
  if (IDs === null) return []
  if (!Array.isArray(IDs) || IDs.some(id => typeof id !== 'string')) throw invalid('IDs is a list of ids')
  return IDs
}

function messageRoutes({ shelf }: MailpitDeps): Route[] {
  const one = async ({ params }: Call) => {
    const entry = entryOf(shelf, params.id)
    return { entry, mail: await entry.mail() }
  }
  return [
    {
      method: 'GET',
      path: '/api/v1/message/:id',
      run: async call => {
        const { mail } = await one(call)
        const found = await shelf.shelved(mail.id)
        if (found === undefined) throw missing('message')
        shelf.mark([mail.id], true)
        return json(message(found, mail))
      },
    },
    {
      method: 'GET',
      path: '/api/v1/message/:id/headers',
      run: async call => json(headers((await one(call)).mail.raw)),
    },
    {
      method: 'GET',
      path: '/api/v1/message/:id/raw',
      run: async call => ({ type: 'text/plain; charset=utf-8', body: (await one(call)).mail.raw }),
    },
    {
      method: 'GET',
      path: '/api/v1/message/:id/part/:part',
      run: async call => {
        const found = (await one(call)).mail.attachments[Number(call.params.part) - 1]
        if (found === undefined) throw missing('part')
        // Its own type, as documented; the policy of every answer keeps it from running here.
        const type = /^[\w.+-]+\/[\w.+-]+$/.test(found.contentType) ? found.contentType : 'application/octet-stream'
        return { type, headers: { 'content-disposition': dispositionOf(found.filename) }, body: found.content }
      },
    },
    {
      method: 'GET',
      path: '/view/:file',
      run: async ({ params: { file = '' } }) => {
        const [, id, ending] = /^(.+)\.(html|txt)$/.exec(file) ?? []
        const mail = await entryOf(shelf, id).mail()
        if (ending === 'txt') return text(mail.text)
        if (mail.html === '') throw missing('HTML in this message')
        return safeHtml(mail)
      },
    },
  ]
}

function otherRoutes({ host, shelf, version }: MailpitDeps): Route[] {
  const began = now()
  return [
    {
      method: 'GET',
      path: '/api/v1/info',
      run: async () => {
        const all = await shelf.all()
        const tags = Object.fromEntries(countTags(all).map(({ name, count }) => [name, count]))
        return json({
          ...{ Version: `Teal ${version}`, LatestVersion: `Teal ${version}`, Database: '', DatabaseSize: 0 },
          ...{ Messages: all.length, Unread: all.filter(({ read }) => !read).length, Tags: tags },
          RuntimeStats: {
            ...{ Uptime: Math.floor((now() - began) / 1000), Memory: process.memoryUsage.rss() },
            ...{ MessagesDeleted: shelf.deleted, SMTPAccepted: shelf.accepted, SMTPAcceptedSize: shelf.acceptedBytes },
            ...{ SMTPRejected: 0, SMTPIgnored: 0 },
          },
        })
      },
    },
    { method: 'POST', path: '/api/v1/send', run: call => send(host, shelf, call) },
    { method: 'GET', path: '/livez', run: () => text('') },
    { method: 'GET', path: '/readyz', run: () => text('') },
  ]
}

interface Named {
  readonly Name?: string
  readonly Email: string
}

interface SendForm {
  readonly From?: Named
  readonly To?: readonly Named[]
  readonly Cc?: readonly Named[]
  readonly Bcc?: readonly string[]
  readonly Subject?: string
  readonly Text?: string
  readonly HTML?: string
  readonly Headers?: Readonly<Record<string, string>>
  readonly Attachments?: readonly { Content: string; Filename: string; ContentType?: string; ContentID?: string }[]
}

/** Sends what a call describes; its ID is that of the mail as it arrived. */
async function send(host: Host, shelf: Shelf, call: Call): Promise<Answer> {
  const {
    From,
    To = [],
    Cc = [],
    Bcc = [],
    Subject = '',
    Text,
    HTML,
    Headers = {},
    Attachments = [],
  } = (await call.object()) as SendForm
  if (typeof From?.Email !== 'string' || !Array.isArray(To) || !Array.isArray(Cc) || !Array.isArray(Bcc))
    throw invalid('From has an Email; To, Cc and Bcc are lists')
  const written = ({ Name = '', Email }: Named) =>
    Name === '' ? Email : `"${Name.replace(/["\\\r\n]/g, '')}" <${Email}>`
  const mark = `${newId()}@teal.test`
  const draft = {
    ...{ from: written(From), to: To.map(written), cc: Cc.map(written), subject: Subject },
    ...{ text: Text, html: HTML, headers: Headers, messageId: `<${mark}>` },
    attachments: Attachments.map(({ Content, Filename, ContentType, ContentID }) => ({
      ...{ filename: Filename, content: Buffer.from(Content, 'base64') },
      ...(ContentType !== undefined && { contentType: ContentType }),
      ...(ContentID !== undefined && { cid: ContentID }),
    })),
  }
  const to = [...[...To, ...Cc].map(({ Email }) => Email), ...Bcc]
  try {
    await host.send(draft, { from: From.Email, to })
  } catch (error) {
    const { response, message: said } = error as { response?: string; message: string }
    throw new Unwelcome(400, 'Refused', escapeHtml(response ?? said))
  }
  const found = (await shelf.all()).find(({ card }) => card.words.messageId === mark)
  return json({ ID: found?.entry.facts.id ?? '' })
}
