// The form to sign in with as markup, for the page to come with: it is there, and can be typed into, before any script is.
//
// Run by the build (deploy/web.ts), once for each language. It is the page's own form; its button waits until the script is there.

import { renderToString } from 'preact-render-to-string'
import { type Language, language, languages } from './base/language.ts'
import { isLikelyNobody } from './base/session.ts'
import { Shell } from './base/shell.tsx'
import { baseTexts } from './texts/texts.ts'

/** Language -> markup. */
export async function early(): Promise<Record<string, string>> {
  isLikelyNobody.value = true
  const made: Record<string, string> = {}
  for (const code of Object.keys(languages) as Language[]) {
    language.value = code
    await baseTexts.load(code)
    made[code] = renderToString(<Shell areas={[]} />)
      .replace('<button type="submit"', '<button disabled type="submit"')
      .replace('name="username"', 'name="username" autofocus')
  }
  return made
}
