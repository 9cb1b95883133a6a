// What an invitation says (RFC 5545): what, when, where, who asks. The first event of a calendar is read, and how many more there are.
//
// What strangers wrote: lengths are bounded, nothing is believed. A time in a zone that browsers do not know is told as it is written,
// with the name of the zone.

import { locale } from '../../base/language.ts'
import { personName } from '../../base/names.ts'

export interface Invitation {
  /** `REQUEST`, `CANCEL`, `REPLY` and so on; '' where it does not say. */
  readonly method: string
  readonly what: string
  readonly where: string
  readonly organizer: string
  /** In the language that is shown; '' where there is no time. */
  readonly when: string
  readonly repeats: boolean
  /** Events beside the first one. */
  readonly more: number
}

interface Line {
  readonly name: string
  readonly params: ReadonlyMap<string, string>
  readonly value: string
}

interface Time {
  readonly at: number
  readonly isDay: boolean
  /** Of a time that is told as it is written. */
  readonly zone: string | undefined
}

export const calendarMax = 300_000
const lineMax = 5000
const dayMs = 86_400_000

/** Undefined where there is no event in it. */
export function readInvitation(text: string): Invitation | undefined {
  const stack: string[] = []
  const event = new Map<string, Line>()
  let method = ''
  let events = 0
  for (const written of text
    .slice(0, calendarMax)
    .replace(/\r?\n[ \t]/g, '')
    .split(/\r?\n/)) {
    const line = lineOf(written.slice(0, lineMax))
    if (line === undefined) continue
    const { name, value } = line
    if (name === 'BEGIN') {
      stack.push(value.trim().toUpperCase())
      if (stack.at(-1) === 'VEVENT') events += 1
    } else if (name === 'END') stack.pop()
    else if (stack.at(-1) === 'VCALENDAR' && name === 'METHOD') method = value.trim().toUpperCase()
    else if (stack.at(-1) === 'VEVENT' && events === 1 && !event.has(name)) event.set(name, line)
  }
  if (events === 0) return undefined
  const textOf = (name: string) => unescaped(event.get(name)?.value ?? '')
  const organizer = event.get('ORGANIZER')
  return {
    method,
    what: textOf('SUMMARY'),
    where: textOf('LOCATION'),
    organizer: personName({
      name: organizer?.params.get('CN') ?? '',
      address: (organizer?.value ?? '').replace(/^mailto:/i, ''),
    }),
    when: whenOf(event),
    repeats: event.has('RRULE') || event.has('RDATE'),
    more: events - 1,
  }
}

function lineOf(text: string): Line | undefined {
  const [name = ''] = /^[A-Za-z0-9-]+/.exec(text) ?? []
  const params = new Map<string, string>()
  let rest = text.slice(name.length)
  for (;;) {
    const param = /^;([A-Za-z0-9-]+)=(?:"([^"]*)"|([^";:]*))/.exec(rest)
    if (param === null) break
    params.set((param[1] ?? '').toUpperCase(), param[2] ?? param[3] ?? '')
    rest = rest.slice(param[0].length)
  }
  if (name === '' || !rest.startsWith(':')) return undefined
  return { name: name.toUpperCase(), params, value: rest.slice(1) }
}

function unescaped(text: string): string {
  return text.replace(/\\([nN\\;,])/g, (_, sign: string) => (/n/i.test(sign) ? '\n' : sign)).trim()
}

function whenOf(event: ReadonlyMap<string, Line>): string {
  const start = timeOf(event.get('DTSTART'))
  if (start === undefined) return ''
  const end = timeOf(event.get('DTEND')) ?? after(start, event.get('DURATION')?.value)
  // The end of whole days is the day after the last (RFC 5545 3.6.1).
  const last = end === undefined ? start.at : start.isDay ? Math.max(start.at, end.at - dayMs) : end.at
  const isWritten = start.isDay || start.zone !== undefined
  const form = new Intl.DateTimeFormat(locale(), {
    dateStyle: 'full',
    ...(!start.isDay && { timeStyle: 'short' }),
    ...(isWritten && { timeZone: 'UTC' }),
  })
  const said = last > start.at ? form.formatRange(start.at, last) : form.format(start.at)
  return start.zone ? `${said} (${start.zone.slice(0, 100)})` : said
}

function timeOf(line: Line | undefined): Time | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?$/.exec(line?.value.trim() ?? '')
  if (line === undefined || match === null) return undefined
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number)
  const isDay = match[4] === undefined
  const at = isDay ? Date.UTC(year, month - 1, day) : Date.UTC(year, month - 1, day, hour, minute, second)
  if (Number.isNaN(at)) return undefined
  if (isDay || match[7] === 'Z') return { at, isDay, zone: undefined }
  const zone = line.params.get('TZID') ?? ''
  const known = inZone(at, zone)
  // A time without a zone is wherever one is.
  return known === undefined ? { at, isDay, zone } : { at: known, isDay, zone: undefined }
}

/** The moment at which clocks of a zone show a time; undefined for a zone nobody knows. */
function inZone(shown: number, zone: string): number | undefined {
  try {
    const guess = shown - ahead(shown, zone)
    return shown - ahead(guess, zone)
  } catch {
    return undefined
  }
}

/** By how much clocks of a zone are ahead. @throws RangeError for an unknown zone */
function ahead(at: number, timeZone: string): number {
  const fields = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  const form = new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', ...fields, second: 'numeric' })
  const parts = new Map(form.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
  const of = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0
  const there = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'))
  return there - Math.floor(at / 1000) * 1000
}

function after(start: Time, duration = ''): Time | undefined {
  const match = /^P(?:(\d{1,4})W)?(?:(\d{1,4})D)?(?:T(?:(\d{1,4})H)?(?:(\d{1,4})M)?(?:(\d{1,6})S)?)?$/.exec(
    duration.trim(),
  )
  if (match === null) return undefined
  const [weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = match.slice(1).map(part => Number(part ?? 0))
  const ms = (((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1000
  return { ...start, at: start.at + ms }
}
