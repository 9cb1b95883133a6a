// The texts of the account's pages, by language.

import { Catalogue } from '../../base/language.ts'
import type { AccountTexts } from './en.ts'

export const accountTexts = new Catalogue<AccountTexts>({
  en: async () => (await import('./en.ts')).en,
  de: async () => (await import('./de.ts')).de,
  ar: async () => (await import('./ar.ts')).ar,
})
