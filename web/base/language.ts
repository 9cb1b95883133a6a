// The language of the page: which one, its texts as they are loaded, its direction, and numbers and dates in its way.
//
// A catalogue is one object of texts for each language, all of one type, so that a text that is missing somewhere does not compile.
// Only the language that is shown is loaded. Components read `catalogue.value` and follow a change by themselves.

import { signal } from '@preact/signals'
import { local } from './browser.ts'

/** Code -> its own name. */
export const languages = { en: 'English', de: 'Deutsch', ar: 'العربية' } as const
export type Language = keyof typeof languages

const rightToLeft: ReadonlySet<string> = new Set<Language>(['ar'])
const kept = 'teal.language'

export const language = signal<Language>(preferred())

type Loaders<T> = Readonly<Record<Language, () => Promise<T>>>

/** Texts of one part of the page. */
export class Catalogue<T> {
  readonly #loaders: Loaders<T>
  readonly #texts = signal<T | undefined>(undefined)

  constructor(loaders: Loaders<T>) {
    this.#loaders = loaders
  }

  /** The texts in the language that is shown. Loaded before anything that reads them is shown (`open`). */
  get value(): T {
    const texts = this.#texts.value
    if (texts === undefined) throw new Error('These texts are not loaded')
    return texts
  }

  /** Loads the texts, and those of a language that is chosen later. */
  async open(): Promise<void> {
    opened.add(this)
    await this.load(language.value)
  }

  async load(code: Language): Promise<void> {
    this.#texts.value = await this.#loaders[code]()
  }
}

const opened = new Set<Catalogue<unknown>>()

/** Shows everything in another language. */
export async function choose(code: Language): Promise<void> {
  local.set(kept, code)
  await Promise.all([...opened].map(one => one.load(code)))
  language.value = code
  applyLanguage()
}

export function directionOf(code: Language): 'ltr' | 'rtl' {
  return rightToLeft.has(code) ? 'rtl' : 'ltr'
}

/** Tells the browser, which turns the page round where it is read from the right. */
export function applyLanguage(): void {
  const { documentElement } = document
  documentElement.lang = language.value
  documentElement.dir = directionOf(language.value)
}

function preferred(): Language {
  const wanted = [local.get(kept) ?? '', ...navigator.languages].map(one => one.slice(0, 2).toLowerCase())
  return wanted.find((one): one is Language => one in languages) ?? 'en'
}

/** The language as it is written in the country that the browser names: days, times and numbers have other forms there. */
export function locale(): string {
  const code = language.value
  // Arabic countries differ in digits and calendar, too, and texts of the page have those of none.
  if (code === 'ar') return code
  return navigator.languages.find(one => /^[a-z]{2}-[A-Z]{2}$/.test(one) && one.startsWith(code)) ?? code
}

const numbers = new Map<string, Intl.NumberFormat>()
const dates = new Map<string, Intl.DateTimeFormat>()

/** Made once for each form, since making one takes as long as using it a hundred times: a list has many. */
function formOf<T>(made: Map<string, T>, form: object, make: (code: string) => T): T {
  const code = locale()
  const key = code + JSON.stringify(form)
  const found = made.get(key) ?? make(code)
  made.set(key, found)
  return found
}

function numberAs(value: number, form: Intl.NumberFormatOptions): string {
  return formOf(numbers, form, code => new Intl.NumberFormat(code, form)).format(value)
}

/** A time in a form of its own. */
export function dateAs(at: string | number | Date, form: Intl.DateTimeFormatOptions): string {
  return formOf(dates, form, code => new Intl.DateTimeFormat(code, form)).format(new Date(at))
}

const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

/** 1234567 -> `1.2 MB`. In powers of 1024, as limits and the configuration have them: who was given 1 GB reads 1 GB. */
export function bytes(count: number): string {
  // What would be written as 1,024 of one unit is 1 of the next.
  const fits = (step: number) => Math.round((count / 1024 ** step) * 10) / 10 < 1000
  const found = units.findIndex((_, step) => fits(step))
  const step = found < 0 ? units.length - 1 : found
  const unitDisplay = step === 0 ? 'long' : 'short'
  const form = { style: 'unit', unit: units[step], unitDisplay, maximumFractionDigits: step < 2 ? 0 : 1 } as const
  return numberAs(count / 1024 ** step, form)
}

export function number(value: number): string {
  return numberAs(value, {})
}

/** 0.25 -> `25%`. */
export function percent(value: number): string {
  return numberAs(value, { style: 'percent', maximumFractionDigits: 0 })
}

/** Day and time. */
export function moment(at: string | number | Date): string {
  return dateAs(at, { dateStyle: 'medium', timeStyle: 'short' })
}

/** Time of day. */
export function time(at: string | number | Date): string {
  return dateAs(at, { timeStyle: 'short' })
}

export function day(at: string | number | Date): string {
  return dateAs(at, { dateStyle: 'long' })
}

const spans = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** `3 days ago`, `in 2 hours`. */
export function relative(at: string | number | Date): string {
  const seconds = (new Date(at).getTime() - Date.now()) / 1000
  const form = new Intl.RelativeTimeFormat(language.value, { numeric: 'auto' })
  const [unit, size] = spans.find(([, least]) => Math.abs(seconds) >= least) ?? (['second', 1] as const)
  return form.format(Math.round(seconds / size), unit)
}

/** `a, b and c` in the order and with the words of the language. */
export function list(words: readonly string[]): string {
  return new Intl.ListFormat(language.value).format(words)
}
