// What the service finds wrong with a field, in the language of the page: it says so in English, in few forms (wrong-forms.ts).
//
// What has another form is quoted, so that nothing is kept from anybody.

import { baseTexts } from '../texts/texts.ts'
import { number } from './language.ts'
import { wrongForms } from './wrong-forms.ts'

/** @param said `"username" length must be at least 3 characters long` */
export function wrongText(said: string): string {
  const texts = baseTexts.value.wrong
  for (const [name, form] of Object.entries(wrongForms) as [keyof typeof wrongForms, RegExp][]) {
    const found = form.exec(said)
    if (found === null) continue
    const text: string | ((...numbers: string[]) => string) = texts[name]
    return typeof text === 'string' ? text : text(...found.slice(1).map(digits => number(Number(digits))))
  }
  return texts.other(said)
}
