// The texts of contacts, by language.

import { Catalogue } from '../../base/language.ts'
import type { ContactTexts } from './en.ts'

export const contactTexts = new Catalogue<ContactTexts>({
  en: async () => (await import('./en.ts')).en,
  de: async () => (await import('./de.ts')).de,
  ar: async () => (await import('./ar.ts')).ar,
})
