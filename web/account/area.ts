// The account of whoever is signed in: its places and its menu.
//
// Each page has a file of its own; what is asked for there is that account's alone.

import type { Area } from '../base/area.ts'
import { ActivityPage } from './activity.tsx'
import { AddressesPage } from './addresses.tsx'
import { ArchivePage } from './archive.tsx'
import { AutoreplyPage } from './autoreply.tsx'
import { DataPage } from './data.tsx'
import { EncryptionPage } from './encryption.tsx'
import { FactorsPage } from './factors.tsx'
import { FiltersPage } from './filters.tsx'
import { ForwardingPage } from './forwarding.tsx'
import { OverviewPage } from './overview.tsx'
import { PasswordPage } from './password.tsx'
import { ProgramsPage } from './programs.tsx'
import { accountTexts } from './texts/texts.ts'

const base = '/account'

export const area: Area = {
  routes: [
    { path: base, title: () => accountTexts.value.overview.title, view: OverviewPage },
    { path: `${base}/addresses`, title: () => accountTexts.value.addresses.title, view: AddressesPage },
    { path: `${base}/password`, title: () => accountTexts.value.password.title, view: PasswordPage },
    { path: `${base}/factors`, title: () => accountTexts.value.factors.title, view: FactorsPage },
    { path: `${base}/programs`, title: () => accountTexts.value.programs.title, view: ProgramsPage },
    { path: `${base}/activity`, title: () => accountTexts.value.activity.title, view: ActivityPage },
    { path: `${base}/filters`, title: () => accountTexts.value.filters.title, view: FiltersPage },
    { path: `${base}/autoreply`, title: () => accountTexts.value.autoreply.title, view: AutoreplyPage },
    { path: `${base}/forwarding`, title: () => accountTexts.value.forwarding.title, view: ForwardingPage },
    { path: `${base}/encryption`, title: () => accountTexts.value.encryption.title, view: EncryptionPage },
    { path: `${base}/archive`, title: () => accountTexts.value.archive.title, view: ArchivePage },
    { path: `${base}/data`, title: () => accountTexts.value.data.title, view: DataPage },
  ],
  menu() {
    const texts = accountTexts.value
    return [
      {
        label: texts.groups.account,
        items: [
          { path: base, icon: 'account', label: texts.overview.title },
          { path: `${base}/addresses`, icon: 'signature', label: texts.addresses.title },
        ],
      },
      {
        label: texts.groups.security,
        items: [
          { path: `${base}/password`, icon: 'lock', label: texts.password.title },
          { path: `${base}/factors`, icon: 'shield', label: texts.factors.title },
          { path: `${base}/programs`, icon: 'phone', label: texts.programs.title },
          { path: `${base}/activity`, icon: 'log', label: texts.activity.title },
        ],
      },
      {
        label: texts.groups.mail,
        items: [
          { path: `${base}/filters`, icon: 'filter', label: texts.filters.title },
          { path: `${base}/autoreply`, icon: 'palm', label: texts.autoreply.title },
          { path: `${base}/forwarding`, icon: 'forward', label: texts.forwarding.title },
          { path: `${base}/encryption`, icon: 'key', label: texts.encryption.title },
        ],
      },
      {
        label: texts.groups.data,
        items: [
          { path: `${base}/data`, icon: 'storage', label: texts.data.title },
          { path: `${base}/archive`, icon: 'archive', label: texts.archive.title },
        ],
      },
    ]
  },
}
