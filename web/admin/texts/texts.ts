// The texts of the pages for whoever looks after the service; loaded with these pages alone.

import { Catalogue } from '../../base/language.ts'
import type { AdminTexts } from './en.ts'

export const adminTexts = new Catalogue<AdminTexts>({
  en: async () => (await import('./en.ts')).en,
  de: async () => (await import('./de.ts')).de,
  ar: async () => (await import('./ar.ts')).ar,
})
