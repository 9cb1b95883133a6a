// The texts that every part of the page shares, by language.

import { Catalogue } from '../base/language.ts'
import type { BaseTexts } from './en.ts'

export const baseTexts = new Catalogue<BaseTexts>({
  en: async () => (await import('./en.ts')).en,
  de: async () => (await import('./de.ts')).de,
  ar: async () => (await import('./ar.ts')).ar,
})
