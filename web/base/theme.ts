// Light, dark, or as the system is: chosen once and kept by this browser.

import { signal } from '@preact/signals'
import { local } from './browser.ts'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const kept = 'teal.theme'

export const theme = signal<Theme>(themes.find(one => one === local.get(kept)) ?? 'system')

export function chooseTheme(chosen: Theme): void {
  local.set(kept, chosen)
  theme.value = chosen
  applyTheme()
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme.value
}
