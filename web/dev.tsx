// Starts the page of `teal dev`: what arrived, for the developer of an application. It knows the REST below /dev/v1 alone.

import './style.css'
import './dev/dev.css'
import { render } from 'preact'
import { applyLanguage } from './base/language.ts'
import { applyTheme } from './base/theme.ts'
import { DevPage } from './dev/page.tsx'
import { devTexts } from './dev/texts/texts.ts'
import { baseTexts } from './texts/texts.ts'

applyTheme()
applyLanguage()
const page = document.getElementById('page')
if (page !== null) {
  await Promise.all([baseTexts.open(), devTexts.open()])
  render(<DevPage />, page)
}
