// The account of whoever is signed in: its places and its menu.

import type { Area } from '../base/area.ts'
import { OverviewPage } from './overview.tsx'
import { accountTexts } from './texts/texts.ts'

const base = '/account'

export const area: Area = {
  texts: accountTexts,
  routes: [{ path: base, title: () => accountTexts.value.overview.title, view: OverviewPage }],
  menu() {
    const texts = accountTexts.value
    return [
      {
        label: texts.groups.account,
        items: [{ path: base, icon: 'account', label: texts.overview.title }],
      },
    ]
  },
}
