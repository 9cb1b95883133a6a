// The texts of the developer's page, by language.

import { Catalogue } from '../../base/language.ts'
import type { DevTexts } from './en.ts'

export const devTexts = new Catalogue<DevTexts>({
  en: async () => (await import('./en.ts')).en,
  de: async () => (await import('./de.ts')).de,
  ar: async () => (await import('./ar.ts')).ar,
})
