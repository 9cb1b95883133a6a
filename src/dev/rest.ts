// The REST that tests of any language use: waiting, looking, failures, time, accounts. One call waits by itself, without polling;
// one that waited in vain says what came instead.
//
// It gives what teal/testing gives, by the same code; files of this machine cannot be named in it.

import { dispositionOf } from '#http/api/messages/disposition.ts'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Entry } from '#testing/arrived/journal.ts'
import { MailboxError } from '#testing/arrived/mailbox.ts'
import type { Host } from '#testing/host.ts'
import { variables } from '#testing/variables.ts'
import type { Draft, Failure, Mail, Seed, Stack } from '#testing.d'
import { checkLinks, checksOf } from './checks.ts'
import {
  type Answer,
  type Call,
  invalid,
  json,
  missing,
  type Route,
  type Streaming,
  text,
  Unwelcome,
} from './exchange.ts'
import { askedBy, numberOf } from './filter.ts'
import { compatibilityOf } from './html/compatibility.ts'
import { safeHtml } from './html/safe.ts'
import { seedOf } from './seed-form.ts'
import { type ShelfDeps, shelfRoutes } from './shelf/routes.ts'
import type { Shelf } from './shelf/shelf.ts'
import { base, showMail } from './shown.ts'
import { spamOf } from './spam.ts'

export interface RestDeps extends ShelfDeps {
  readonly host: Host
  /** What is said of the service itself. */
  about(): object
}

export function restRoutes(deps: RestDeps): Route[] {
  const routes = [
    ...waitRoutes(deps),
    ...shelfRoutes(deps),
    ...mailRoutes(deps),
    ...inboxRoutes(deps),
    ...failureRoutes(deps),
    ...otherRoutes(deps),
  ]
  return routes.map(route => ({ ...route, path: `${base}${route.path}` }))
}

/** Waiting, and what is in a mailbox. */
function waitRoutes({ host, shelf }: RestDeps): Route[] {
  const shown = (mail: Mail) => showMail(shelf.find(mail.id) ?? goneEntry(mail), mail)
  const wait = async (call: Call): Promise<Answer> => {
    const { inbox, filter, timeout = waitMs, count } = askedBy(call.query, await call.object())
    const how = { timeout: Math.min(timeout, limits.dev.waitMsMax), count: count ?? 1, signal: call.signal }
    const found = await answered(() => shelf.mailbox(inbox).wait(filter, how))
    return json(count === undefined ? shown(found[0] as Mail) : found.map(shown))
  }
  const none = async (call: Call): Promise<Answer> => {
    const { inbox, filter, within = withinMs } = askedBy(call.query, await call.object())
    const how = { within: Math.min(within, limits.dev.waitMsMax) }
    await answered(() => shelf.mailbox(inbox).none(filter, how))
    return done
  }
  const list = async (call: Call): Promise<Answer> => {
    const { inbox, filter } = askedBy(call.query, {})
    return json((await shelf.mailbox(inbox).list(filter)).toReversed().map(shown))
  }
  const send = async (call: Call): Promise<Answer> => {
    const to = call.query.getAll('to')
    const draft = call.type === 'message/rfc822' ? await call.body() : await draftOf(call)
    await delivered(host, draft, { from: call.query.get('from') ?? undefined, ...(to.length > 0 && { to }) })
    return done
  }
  return [
    ...['GET', 'POST'].flatMap(method => [
      { method, path: '/wait', run: wait },
      { method, path: '/none', run: none },
    ]),
    { method: 'GET', path: '/mails', run: list },
    { method: 'POST', path: '/mails', run: send },
  ]
}

const done = json({ success: true })

/** One mail. */
function mailRoutes({ shelf }: RestDeps): Route[] {
  const entryOf = ({ params: { id = '' } }: Call): Entry => {
    const found = shelf.find(id)
    if (found === undefined) throw missing(`mail ${id}`)
    return found
  }
  const one = async (call: Call): Promise<Answer> => {
    const entry = entryOf(call)
    const { read = false, tags = [] } = (await shelf.shelved(entry.facts.id)) ?? {}
    return json({ ...showMail(entry, await entry.mail()), read, tags })
  }
  const forget = (call: Call): Answer => {
    shelf.forget(new Set([entryOf(call).facts.id]))
    return done
  }
  const mark = async (call: Call): Promise<Answer> => {
    shelf.mark([entryOf(call).facts.id], (await call.object()).read !== false)
    return done
  }
  const raw = async (call: Call): Promise<Answer> => {
    return { type: 'text/plain; charset=utf-8', body: (await entryOf(call).mail()).raw }
  }
  const attachment = async (call: Call): Promise<Answer> => {
    const found = (await entryOf(call).mail()).attachments[Number(call.params.at)]
    if (found === undefined) throw missing(`attachment ${call.params.at}`)
    return {
      type: 'application/octet-stream',
      headers: { 'content-disposition': dispositionOf(found.filename) },
      body: found.content,
    }
  }
  const checks = async (call: Call): Promise<Answer> => {
    const entry = entryOf(call)
    return json(checksOf(await entry.mail(), entry.facts.size))
  }
  const links = async (call: Call): Promise<Answer> =>
    json(await checkLinks((await entryOf(call).mail()).links(), call.signal))
  return [
    { method: 'GET', path: '/mails/:id', run: one },
    { method: 'DELETE', path: '/mails/:id', run: forget },
    { method: 'PUT', path: '/mails/:id/read', run: mark },
    { method: 'GET', path: '/mails/:id/raw', run: raw },
    { method: 'GET', path: '/mails/:id/html', run: async call => safeHtml(await entryOf(call).mail()) },
    { method: 'GET', path: '/mails/:id/attachments/:at', run: attachment },
    { method: 'GET', path: '/mails/:id/checks', run: checks },
    {
      method: 'GET',
      path: '/mails/:id/programs',
      run: async call => json(compatibilityOf((await entryOf(call).mail()).html)),
    },
    {
      method: 'GET',
      path: '/mails/:id/spam',
      run: async call => json(spamOf(await entryOf(call).mail(), shelf.knowsRecords)),
    },
    { method: 'POST', path: '/mails/:id/links', run: links },
  ]
}

const waitMs = 5000
const withinMs = 200

/** Given out and forgotten meanwhile. */
function goneEntry(mail: Mail): Entry {
  const { id, arrived, envelope } = mail
  const facts = { id, arrived, envelope, seq: 0, size: mail.raw.length, session: null }
  return { facts, raw: async () => mail.raw, mail: async () => mail } as Entry
}

/** What a mailbox gives, or a refusal that says what there was. */
async function answered<Value>(ask: () => Promise<Value>): Promise<Value> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof MailboxError)) throw error
    const arrived = error.arrived.map(({ mail, reasons }) => {
      const { id, arrived, envelope, from = null, subject } = mail
      return { id, arrived, envelope, from, subject, reasons }
    })
    const unwanted = error.message.startsWith('There should be none')
    throw new Unwelcome(unwanted ? 409 : 404, unwanted ? 'MailArrived' : 'MailMissing', error.message, { arrived })
  }
}

async function draftOf(call: Call): Promise<Draft> {
  const draft = await call.object()
  const attachments = draft.attachments as { content?: string; encoding?: string }[] | undefined
  if (attachments !== undefined && !Array.isArray(attachments)) throw invalid('attachments is a list')
  for (const one of attachments ?? []) {
    if (typeof one?.content !== 'string') throw invalid('An attachment has content: its text, or base64 with encoding')
  }
  return draft as Draft
}

async function delivered(host: Host, draft: Draft, envelope: { from?: string; to?: readonly string[] }): Promise<void> {
  try {
    await host.send(draft, envelope)
  } catch (error) {
    const { response, message } = error as { response?: string; message: string }
    throw new Unwelcome(422, 'Refused', response ?? message)
  }
}

function inboxRoutes({ host }: RestDeps): Route[] {
  const ports = () => {
    const open = (['smtp', 'imap', 'pop3'] as const).filter(name => host.teal.listeners[name] !== undefined)
    return Object.fromEntries(open.map(name => [name, host.port(name)]))
  }
  return [
    {
      method: 'POST',
      path: '/inboxes',
      run: async call => {
        const { name } = await call.object()
        if (name !== undefined && typeof name !== 'string') throw invalid('name is a text')
        return json({ ...(await host.inbox(name)), ...ports() })
      },
    },
    {
      method: 'POST',
      path: '/inboxes/:address/seed',
      run: async call => {
        const seed: Seed = await seedOf(call)
        await host.seed(call.params.address ?? '', seed).catch(error => {
          throw invalid((error as Error).message)
        })
        return json({ success: true, messages: seed.messages?.length ?? 0 })
      },
    },
    {
      method: 'PUT',
      path: '/inboxes/:address/full',
      run: async call => {
        host.full(call.params.address ?? '', (await call.object()).full !== false)
        return json({ success: true })
      },
    },
  ]
}

function failureRoutes({ host }: RestDeps): Route[] {
  const live = new Map<string, { rule: object; hits(): number; stop(): void }>()
  let last = 0
  const find = ({ params: { id = '' } }: Call) => {
    const found = live.get(id)
    if (found === undefined) throw missing(`failure ${id}`)
    return { id, found }
  }
  const stop = (id: string) => {
    live.get(id)?.stop()
    live.delete(id)
  }
  return [
    {
      method: 'POST',
      path: '/failures',
      run: async call => {
        const rule = await call.object()
        try {
          const made = host.failures.add(rule as unknown as Failure)
          last += 1
          live.set(String(last), { rule, ...made })
        } catch (error) {
          throw invalid((error as Error).message)
        }
        return json({ id: String(last) })
      },
    },
    {
      method: 'GET',
      path: '/failures',
      run: () => json([...live].map(([id, { rule, hits }]) => ({ id, rule, hits: hits() }))),
    },
    {
      method: 'GET',
      path: '/failures/:id',
      run: call => {
        const { id, found } = find(call)
        return json({ id, rule: found.rule, hits: found.hits() })
      },
    },
    {
      method: 'DELETE',
      path: '/failures/:id',
      run: call => {
        stop(find(call).id)
        return json({ success: true })
      },
    },
    {
      method: 'DELETE',
      path: '/failures',
      run: () => {
        for (const id of [...live.keys()]) stop(id)
        return json({ success: true })
      },
    },
  ]
}

function otherRoutes({ host, shelf, about }: RestDeps): Route[] {
  return [
    { method: 'GET', path: '/info', run: () => json(about()) },
    {
      method: 'GET',
      path: '/env',
      run: ({ query }) => {
        try {
          const found = variables(host.port('smtp'), (query.get('stack') as Stack | null) ?? undefined)
          const lines = Object.entries(found).map(([name, value]) => `${name}=${value}\n`)
          return query.get('format') === 'json' ? json(found) : text(lines.join(''))
        } catch (error) {
          throw invalid((error as Error).message)
        }
      },
    },
    { method: 'GET', path: '/clock', run: () => json({ now: now() }) },
    {
      method: 'POST',
      path: '/clock',
      run: async call => {
        host.advance(numberOf('advance', (await call.object()).advance))
        return json({ now: now() })
      },
    },
    { method: 'GET', path: '/events', run: () => events(shelf) },
  ]
}

/** Tells that there is something new, and not what: who wants to know asks. */
function events(shelf: Shelf): Streaming {
  return {
    type: 'text/event-stream',
    open(send) {
      send('retry: 1000\n\nevent: open\ndata: {}\n\n')
      return shelf.watch(news => send(`event: ${news}\ndata: {}\n\n`))
    },
  }
}
