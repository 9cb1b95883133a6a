// Starts the page: its language and look, who is signed in, and the areas there are. Each area is loaded when somebody goes there.

import './style.css'
import { render } from 'preact'
import type { AreaEntry } from './base/area.ts'
import { applyLanguage } from './base/language.ts'
import { startRouter } from './base/router.ts'
import { refreshSession } from './base/session.ts'
import { Shell } from './base/shell.tsx'
import { applyTheme } from './base/theme.ts'
import { baseTexts } from './texts/texts.ts'

const areas: readonly AreaEntry[] = [
  {
    name: 'account',
    icon: 'settings',
    label: () => baseTexts.value.account,
    isOpen: session => session.user !== undefined,
    load: async () => (await import('./account/area.ts')).area,
  },
]

applyTheme()
applyLanguage()
const page = document.getElementById('page')
if (page !== null) {
  await baseTexts.open()
  render(<Shell areas={areas} />, page)
  startRouter()
  await refreshSession()
}
