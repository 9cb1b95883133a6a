// Mail in the browser: what the shell needs to show it. Its own folders stand at the side, so it has no menu.

import type { Area } from '../base/area.ts'
import { MailPage } from './mail-page.tsx'
import { mailTexts } from './texts/texts.ts'

export const area: Area = {
  routes: [
    { path: '/mail', title: () => mailTexts.value.mail, view: MailPage },
    { path: '/mail/:folder', title: () => mailTexts.value.mail, view: MailPage },
  ],
  menu: () => [],
  isWide: true,
}
