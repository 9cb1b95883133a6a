// The form to sign in with as markup, for the page to come with: it is there, and can be typed into, before any script is.
//
// Run by the build (deploy/web.ts), once for each language. It is the page's own form; its button waits until the script is there.

import { renderToString } from 'preact-render-to-string'
import { directionOf, type Language, language, languages } from './base/language.ts'
import { isLikelyNobody } from './base/session.ts'
import { Shell } from './base/shell.tsx'
import { baseTexts } from './texts/texts.ts'

interface Early {
  readonly dir: string
  readonly form: string
}

/** By language. */
export async function early(): Promise<Record<string, Early>> {
  isLikelyNobody.value = true
  const made: Record<string, Early> = {}
  for (const code of Object.keys(languages) as Language[]) {
    language.value = code
    await baseTexts.load(code)
    const form = renderToString(<Shell areas={[]} />)
      .replace('<button type="submit"', '<button disabled type="submit"')
      .replace('name="username"', 'name="username" autofocus')
    made[code] = { dir: directionOf(code), form }
  }
  return made
}
