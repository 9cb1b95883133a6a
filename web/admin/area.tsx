// The service, for whoever looks after it: its places and its menu. What a session may not do is not in the menu.
//
// The grants of a session decide what is shown, the service what is allowed. An area knows nothing of the others, so that it is loaded alone.

import { useEffect } from 'preact/hooks'
import type { Area, Group, Item } from '../base/area.ts'
import { go } from '../base/router.ts'
import { may } from '../base/session.ts'
import { AddressesPage } from './addresses.tsx'
import { DomainPage } from './domain/domain.tsx'
import { DomainsPage } from './domain/domains.tsx'
import { LogPage } from './log.tsx'
import { OverviewPage } from './overview.tsx'
import { QueuePage } from './queue.tsx'
import { AuditsPage } from './service/audits.tsx'
import { BackupsPage } from './service/backups.tsx'
import { CertificatesPage } from './service/certificates.tsx'
import { SettingsPage } from './service/settings.tsx'
import { TokensPage } from './service/tokens.tsx'
import { WebhookPage, WebhooksPage } from './service/webhooks.tsx'
import { adminTexts } from './texts/texts.ts'
import { QueuedPage, TracePage } from './trace.tsx'
import { UserPage } from './user.tsx'
import { UsersPage } from './users.tsx'

const base = '/service'
const pages = () => adminTexts.value.pages
type Name = keyof ReturnType<typeof pages>

const title = (name: Name) => () => pages()[name]

/** Where each page lies, its picture, and what a session needs to see it. */
const places = {
  overview: { icon: 'chart', grant: 'figures.read' },
  users: { icon: 'users', grant: 'userlisting.read' },
  addresses: { icon: 'forward', grant: 'addresslisting.read' },
  domains: { icon: 'domain', grant: 'domains.read' },
  queue: { icon: 'mail', grant: 'queue.read' },
  trace: { icon: 'search', grant: 'queue.read' },
  log: { icon: 'log', grant: 'log.read' },
  certificates: { icon: 'shield', grant: 'certs.read' },
  webhooks: { icon: 'upload', grant: 'webhooks.read' },
  tokens: { icon: 'key', grant: 'tokens.read' },
  audits: { icon: 'archive', grant: 'audit.read' },
  settings: { icon: 'settings', grant: 'settings.read' },
  backups: { icon: 'storage', grant: 'backups.read' },
} as const satisfies Record<Name, { icon: Item['icon']; grant: string }>

/** Pages that show those of some domains to whoever looks after these. */
const ofDomains: ReadonlySet<Name> = new Set(['users', 'addresses', 'domains'])

function itemsOf(...names: Name[]): Item[] {
  return (
    names
      .filter(name => may(places[name].grant, ofDomains.has(name) ? 'domain' : 'any'))
      // Whoever finds users only to begin an audit has nothing to do on their page.
      .filter(name => name !== 'users' || may('users.update', 'domain'))
      .map(name => ({ path: pathOf(name), icon: places[name].icon, label: pages()[name] }))
  )
}

function pathOf(name: Name): string {
  return name === 'overview' ? base : `${base}/${name}`
}

export const area: Area = {
  isWide: true,
  routes: [
    { path: base, title: title('overview'), view: StartPage },
    { path: `${base}/users`, title: title('users'), view: UsersPage },
    { path: `${base}/users/:user`, title: title('users'), view: UserPage },
    { path: `${base}/addresses`, title: title('addresses'), view: AddressesPage },
    { path: `${base}/domains`, title: title('domains'), view: DomainsPage },
    { path: `${base}/domains/:domain`, title: title('domains'), view: DomainPage },
    { path: `${base}/queue`, title: title('queue'), view: QueuePage },
    { path: `${base}/queue/:id`, title: title('queue'), view: QueuedPage },
    { path: `${base}/trace`, title: title('trace'), view: TracePage },
    { path: `${base}/trace/:id`, title: title('trace'), view: TracePage },
    { path: `${base}/log`, title: title('log'), view: LogPage },
    { path: `${base}/certificates`, title: title('certificates'), view: CertificatesPage },
    { path: `${base}/webhooks`, title: title('webhooks'), view: WebhooksPage },
    { path: `${base}/webhooks/:webhook`, title: title('webhooks'), view: WebhookPage },
    { path: `${base}/tokens`, title: title('tokens'), view: TokensPage },
    { path: `${base}/audits`, title: title('audits'), view: AuditsPage },
    { path: `${base}/settings`, title: title('settings'), view: SettingsPage },
    { path: `${base}/backups`, title: title('backups'), view: BackupsPage },
  ],
  menu,
}

function menu(): Group[] {
  const { groups } = adminTexts.value
  const all: Group[] = [
    { label: groups.people, items: itemsOf('overview', 'users', 'domains', 'addresses') },
    { label: groups.mail, items: itemsOf('queue', 'trace', 'log') },
    { label: groups.service, items: itemsOf('certificates', 'webhooks', 'tokens', 'audits', 'settings', 'backups') },
  ]
  return all.filter(({ items }) => items.length > 0)
}

/** The first page of this session: not everybody may see the overview. */
function StartPage() {
  const first = menu()[0]?.items[0]?.path
  useEffect(() => {
    if (first !== undefined && first !== base) go(first, { replace: true })
  }, [first])
  return first === base ? <OverviewPage /> : null
}
