// Mail in the browser: what the shell needs to show it. Its own folders stand at the side, so it has no menu.
//
// What is shown first is asked for as soon as somebody is signed in, before any of it is drawn.

import { effect, untracked } from '@preact/signals'
import type { Area } from '../base/area.ts'
import { match, place, search } from '../base/router.ts'
import { beforeSignOut, type Owner, session } from '../base/session.ts'
import { loadLetters } from './later.ts'
import { MailPage } from './mail-page.tsx'
import { folders, listOf, openFolders } from './store.ts'
import { mailTexts } from './texts/texts.ts'

export const area: Area = {
  routes: [
    { path: '/mail', title: () => mailTexts.value.mail, view: MailPage },
    { path: '/mail/:folder', title: () => mailTexts.value.mail, view: MailPage },
  ],
  menu: () => [],
  isWide: true,
}

beforeSignOut(async () => (await loadLetters()).leaveLetters())

effect(() => {
  const { user } = session.value ?? {}
  if (user !== undefined && !user.requirePasswordChange) untracked(() => ahead(user))
})

/** As many rows as are in view at least. */
const firstRows = 10

/** Where mail is what is opened, and nothing of it is known yet. */
function ahead({ inbox = '' }: Owner): void {
  const { values } = match(area.routes, place.value || '/mail') ?? {}
  if (values === undefined || folders.value !== null) return
  // Who shows them says what became of it.
  openFolders().catch(() => {})
  const folder = values.folder ?? inbox
  if (folder !== '') listOf(folder, search.value.get('q') ?? '', search.value.get('t') ?? '').want(0, firstRows)
}
