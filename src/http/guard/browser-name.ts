// What a person would call the browser that sent something: "Firefox, Linux".
//
// Every browser says that it is several others too, so the first that fits counts. Only words from here are given back.

import { limits } from '#lib/limits.ts'

/** Name and sign of each, the more special before what it is made of. */
const browsers: readonly (readonly [name: string, sign: RegExp])[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\b(?:OPR|OPT|Opera)\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Vivaldi', /\bVivaldi\//],
  ['Yandex', /\bYaBrowser\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Chrome|CriOS|HeadlessChrome|Chromium)\//],
  ['Safari', /\bVersion\/[\d.]+ (?:Mobile\/\w+ )?Safari\//],
]
const systems: readonly (readonly [name: string, sign: RegExp])[] = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows NT\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['macOS', /\bMacintosh\b/],
  ['Linux', /\b(?:Linux|X11)\b/],
]

/** @param agent the header User-Agent; '' comes back for what is no known browser */
export function browserName(agent: string): string {
  const said = agent.slice(0, limits.http.userAgentLengthMax)
  const named = (list: typeof browsers) => list.find(([, sign]) => sign.test(said))?.[0]
  const browser = named(browsers)
  if (browser === undefined) return ''
  return [browser, named(systems)].filter(Boolean).join(', ')
}
