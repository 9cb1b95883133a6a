// `teal dev` put together: a mail service that takes everything, and one HTTP port with the REST, Mailpit's calls and the page.
//
// Everything listens on loopback unless told otherwise. Nothing of a temporary folder is left when it closes.

import { version } from '#lib/build-info.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { ConfigPart } from '#teal.d'
import { Host } from '#testing/host.ts'
import type { Route } from './exchange.ts'
import { mailpitRoutes } from './mailpit/routes.ts'
import { Release, type ReleaseOptions } from './out/release.ts'
import { Webhook } from './out/webhook.ts'
import { pageRoutes } from './page/routes.ts'
import { type DevPort, devPorts } from './ports.ts'
import { restRoutes } from './rest.ts'
import { DevServer } from './server.ts'
import { lineOf } from './shelf/routes.ts'
import { Shelf } from './shelf/shelf.ts'

export interface DevOptions {
  /** Address all of it listens on. Default: 127.0.0.1. */
  readonly host?: string
  /** Of each listener; 0 takes a free one, null leaves it out. */
  readonly ports?: { readonly [Name in DevPort]?: number | null }
  /** Folder of the accounts; a temporary one without. */
  readonly dir?: string
  /** Recipients that are taken: any, or those whose address or domain is named. */
  readonly accept?: readonly string[]
  readonly starttls?: boolean
  /** TXT records by name, which SPF, DKIM and DMARC of what arrives are looked up in. */
  readonly dns?: Readonly<Record<string, string | readonly string[]>>
  /** Mails that are shown; older ones are forgotten. */
  readonly max?: number
  /** Names in requests, besides localhost and addresses. */
  readonly names?: readonly string[]
  /** Where mail is sent on to when somebody asks for it by hand; nowhere without. */
  readonly release?: ReleaseOptions
  /** Is told of each mail that arrived. */
  readonly webhook?: string
}

export interface Dev {
  readonly host: Host
  /** Of the page, the REST and Mailpit's calls. */
  readonly url: string
  /** Where each listener is. */
  readonly ports: { readonly [Name in DevPort]?: number }
  close(): Promise<void>
}

/** @throws Fault PortInUse, DataDirectoryInUse, ConfigInvalid */
export async function startDev(options: DevOptions = {}): Promise<Dev> {
  const { host: at = '127.0.0.1', dir, accept, starttls = false, max = limits.dev.mailsMax, names = [] } = options
  const initial = Object.entries(devPorts).map(([name, { initial }]) => [name, initial])
  const wanted: Record<DevPort, number | null> = { ...Object.fromEntries(initial), ...options.ports }
  const listener = (port: number | null) => (port === null ? { enabled: false } : { port, host: at })
  const config: ConfigPart = {
    ...{ smtp: listener(wanted.smtp), imap: listener(wanted.imap), pop3: listener(wanted.pop3) },
    ...{ submissions: listener(wanted.smtps), imaps: listener(wanted.imaps), pop3s: listener(wanted.pop3s) },
    ...{ lmtp: { enabled: false }, submission: { enabled: false }, api: listener(wanted.api) },
    ...(dir !== undefined && { dataDir: dir }),
  }
  const { dns } = options
  const release =
    options.release === undefined ? undefined : configured(() => new Release(options.release as ReleaseOptions))
  const how = { starttls, ...(accept !== undefined && { accept }), ...(dns !== undefined && { dns }) }
  const host = await Host.start({ config, ...how })
  const shelf = new Shelf(host, max, dns !== undefined)
  try {
    const webhook = configured(() => tellWebhook(options.webhook, shelf, host))
    const { smtp, imap, pop3, submissions, imaps, pop3s, api } = host.teal.listeners
    const ports = {
      ...{ smtp: smtp?.port, imap: imap?.port, pop3: pop3?.port, api: api?.port },
      ...{ smtps: submissions?.port, imaps: imaps?.port, pop3s: pop3s?.port },
    }
    const about = () => ({
      ...{ version, ports: { ...ports, http: server?.port }, mails: shelf.count() },
      release: release?.about() ?? null,
    })
    const routes: Route[] = [
      ...restRoutes({ host, shelf, release, about }),
      ...mailpitRoutes({ host, shelf, release, version }),
      ...pageRoutes(),
    ]
    const own = new Set(names.map(name => name.toLowerCase()))
    const loopback = /^(127\.|::1$|localhost$)/.test(at)
    const rules = { names: own, bare: !loopback }
    let server: DevServer | undefined
    const opened = await DevServer.open({ host: at, port: wanted.http ?? 0, rules, routes, log: host.teal.core.log })
    server = opened
    const close = async () => {
      await opened.close()
      shelf.close()
      await webhook?.close()
      await host.close()
    }
    const shown = at === '0.0.0.0' || at === '::' ? 'localhost' : at.includes(':') ? `[${at}]` : at
    return { host, url: `http://${shown}:${opened.port}`, ports: { ...ports, http: opened.port }, close }
  } catch (error) {
    shelf.close()
    await host.close()
    throw error
  }
}

/** @throws Fault ConfigInvalid in the place of a TypeError */
function configured<Value>(make: () => Value): Value {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new Fault('ConfigInvalid', { text: error.message, cause: error })
  }
}

function tellWebhook(url: string | undefined, shelf: Shelf, host: Host): Webhook | undefined {
  if (url === undefined) return undefined
  const webhook = new Webhook(url, host.teal.core.log)
  shelf.watch(async (news, id) => {
    const found = news === 'arrived' && id !== undefined ? await shelf.shelved(id) : undefined
    if (found !== undefined) webhook.push(lineOf(found))
  })
  return webhook
}
