// Starts the page: its language and look, who is signed in, and the areas there are. Each area is loaded when somebody goes there.
//
// An area that the session may not open is not in the menu, and not loaded.

import { render } from 'preact'
import { accountTexts } from './account/texts/texts.ts'
import { adminTexts } from './admin/texts/texts.ts'
import type { AreaEntry } from './base/area.ts'
import { local } from './base/browser.ts'
import { keepFocus } from './base/focus.ts'
import { whose } from './base/kept.ts'
import { applyLanguage } from './base/language.ts'
import { startRouter } from './base/router.ts'
import { startSession } from './base/session.ts'
import { ahead, Shell } from './base/shell.tsx'
import { applyTheme } from './base/theme.ts'
// All areas have it, so it comes with the page.
import './base/resource.ts'
import { contactTexts } from './contacts/texts/texts.ts'
import { mailTexts } from './mail/texts/texts.ts'
import { baseTexts } from './texts/texts.ts'

/** Who may do one of these for everybody, or for some domains, looks after the service or a part of it. */
const openers: ReadonlySet<string> = new Set([
  'figures.read',
  'userlisting.read',
  'domains.read',
  'queue.read',
  'audit.read',
])

const areas: readonly AreaEntry[] = [
  {
    name: 'mail',
    icon: 'mail',
    label: () => baseTexts.value.mail,
    isOpen: session => session.user !== undefined,
    texts: mailTexts,
    load: async () => (await import('./mail/area.ts')).area,
    mayKeep: user => local.keys().some(key => /^teal\.(letters|deed)\./.test(key) && key.includes(user)),
  },
  {
    name: 'contacts',
    icon: 'users',
    label: () => baseTexts.value.contacts,
    isOpen: session => session.user !== undefined,
    texts: contactTexts,
    load: async () => (await import('./contacts/area.ts')).area,
  },
  {
    name: 'account',
    icon: 'settings',
    label: () => baseTexts.value.account,
    isOpen: session => session.user !== undefined,
    texts: accountTexts,
    load: async () => (await import('./account/area.ts')).area,
  },
  {
    name: 'service',
    icon: 'chart',
    label: () => baseTexts.value.service,
    isOpen: ({ grants = {} }) => Object.entries(grants).some(([grant, scope]) => scope !== 'own' && openers.has(grant)),
    texts: adminTexts,
    load: async () => (await import('./admin/area.tsx')).area,
  },
]

async function start(page: Element): Promise<void> {
  const asked = startSession()
  // Whoever was signed in most likely is.
  if (whose() !== '') ahead(areas)
  await baseTexts.open()
  render(<Shell areas={areas} />, page)
  keepFocus()
  startRouter()
  await asked
}

applyTheme()
applyLanguage()
const page = document.getElementById('page')
if (page !== null) void start(page)
