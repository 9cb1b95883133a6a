// Mailpit's calls for tags, for chaos, and for what leads elsewhere, with the shapes of its documentation.
//
// Tags are those of the list (shelf/card.ts). Chaos becomes rules of failures (`/dev/v1/failures`, which do more): a likelihood of 0
// takes one away.

import type { Entry } from '#testing/arrived/journal.ts'
import type { Host } from '#testing/host.ts'
import { checkLinks } from '../checks.ts'
import { invalid, json, missing, type Route, text } from '../exchange.ts'
import { compatibilityOf } from '../html/compatibility.ts'
import { released, type ShelfDeps, textsOf } from '../shelf/routes.ts'
import { countTags, type Shelf } from '../shelf/shelf.ts'
import { spamOf } from '../spam.ts'
import { htmlCheck, spamCheck } from './judged.ts'

export function tagRoutes({ shelf }: { readonly shelf: Shelf }): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/tags',
      run: async () => json(countTags(await shelf.all()).map(({ name }) => name)),
    },
    {
      method: 'PUT',
      path: '/api/v1/tags',
      run: async call => {
        const { Tags = [], IDs = [] } = await call.object()
        shelf.tag(textsOf('IDs', IDs), textsOf('Tags', Tags))
        return text('ok')
      },
    },
    {
      method: 'PUT',
      path: '/api/v1/tags/:tag',
      run: async call => {
        const { Name } = await call.object()
        if (typeof Name !== 'string' || Name.trim() === '') throw invalid('Name is the new name')
        shelf.rename(call.params.tag ?? '', Name)
        return text('ok')
      },
    },
    {
      method: 'DELETE',
      path: '/api/v1/tags/:tag',
      run: ({ params: { tag = '' } }) => {
        shelf.rename(tag, null)
        return text('ok')
      },
    },
  ]
}

/** Where each trigger strikes. */
const triggers = { Authentication: 'auth', Recipient: 'rcpt', Sender: 'mail' } as const
type Trigger = keyof typeof triggers

interface Chance {
  readonly ErrorCode: number
  readonly Probability: number
}

export function chaosRoutes({ host }: { readonly host: Host }): Route[] {
  const none: Chance = { ErrorCode: 451, Probability: 0 }
  const set = new Map<Trigger, Chance>()
  const rules = new Map<Trigger, { stop(): void }>()
  const names = Object.keys(triggers) as Trigger[]
  const shown = () => json(Object.fromEntries(names.map(name => [name, set.get(name) ?? none])))
  const change = (name: Trigger, chance: Chance) => {
    rules.get(name)?.stop()
    rules.delete(name)
    set.set(name, chance)
    if (chance.Probability === 0) return
    const reply = `${chance.ErrorCode} Chaos: ${name}`
    rules.set(name, host.failures.add({ at: triggers[name], reply, chance: chance.Probability / 100 }))
  }
  return [
    { method: 'GET', path: '/api/v1/chaos', run: shown },
    {
      method: 'PUT',
      path: '/api/v1/chaos',
      run: async call => {
        const body = await call.object()
        const wanted = names.map(name => [name, chanceOf(name, body[name] ?? none)] as const)
        for (const [name, chance] of wanted) change(name, chance)
        return shown()
      },
    },
  ]
}

function chanceOf(name: string, value: unknown): Chance {
  const { ErrorCode, Probability } = (value ?? {}) as Partial<Chance>
  const isCode = Number.isInteger(ErrorCode) && (ErrorCode as number) >= 400 && (ErrorCode as number) <= 599
  const isChance = Number.isInteger(Probability) && (Probability as number) >= 0 && (Probability as number) <= 100
  if (!isCode || !isChance) throw invalid(`${name} has an ErrorCode from 400 to 599 and a Probability from 0 to 100`)
  return { ErrorCode: ErrorCode as number, Probability: Probability as number }
}

/** @throws Unwelcome */
export function entryOf(shelf: Shelf, id = ''): Entry {
  const found = shelf.find(id)
  if (found === undefined) throw missing('message')
  return found
}

export function outwardRoutes({ shelf, release }: ShelfDeps): Route[] {
  return [
    {
      method: 'POST',
      path: '/api/v1/message/:id/release',
      run: async call => {
        const { To } = await call.object()
        await released(release, entryOf(shelf, call.params.id), To)
        return text('ok')
      },
    },
    {
      method: 'GET',
      path: '/api/v1/message/:id/html-check',
      run: async ({ params }) => json(htmlCheck(compatibilityOf((await entryOf(shelf, params.id).mail()).html))),
    },
    {
      method: 'GET',
      path: '/api/v1/message/:id/sa-check',
      run: async ({ params }) => json(spamCheck(spamOf(await entryOf(shelf, params.id).mail(), shelf.knowsRecords))),
    },
    {
      method: 'GET',
      path: '/api/v1/message/:id/link-check',
      run: async ({ params, signal }) => {
        const mail = await entryOf(shelf, params.id).mail()
        const found = await checkLinks(mail.links(), signal)
        const Links = found.map(({ url, status, info }) => ({
          ...{ URL: url, StatusCode: status, Status: info || String(status) },
        }))
        return json({ Errors: found.filter(({ ok }) => !ok).length, Links })
      },
    },
  ]
}
