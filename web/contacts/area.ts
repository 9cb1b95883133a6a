// Contacts: the people an account keeps, and everybody it has written to or heard from.
//
// Both are the account's own; nobody else sees them.

import type { Area } from '../base/area.ts'
import { ContactsPage } from './contacts.tsx'
import { CorrespondentsPage } from './correspondents.tsx'
import { contactTexts } from './texts/texts.ts'

const base = '/contacts'

export const area: Area = {
  routes: [
    { path: base, title: () => contactTexts.value.title, view: ContactsPage },
    { path: `${base}/people`, title: () => contactTexts.value.people.title, view: CorrespondentsPage },
  ],
  menu() {
    const texts = contactTexts.value
    return [
      {
        label: texts.title,
        items: [
          { path: base, icon: 'users', label: texts.title },
          { path: `${base}/people`, icon: 'mail', label: texts.people.title },
        ],
      },
    ]
  },
}
