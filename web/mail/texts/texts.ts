// The texts of mail, by language.

import { Catalogue } from '../../base/language.ts'
import type { MailTexts } from './en.ts'

export const mailTexts = new Catalogue<MailTexts>({
  en: async () => (await import('./en.ts')).en,
  de: async () => (await import('./de.ts')).de,
  ar: async () => (await import('./ar.ts')).ar,
})
