// Dates in mail: the Date field as strangers write it, and the forms that are written here.
//
// Promises: linear, never throws, null for what is no date. A date without a zone, or with one that nobody knows, is UTC, and
// one without a time is midnight (RFC 5256 2.2); years of two and three digits are those of RFC 5322 4.3.

import { withoutComments } from './comment.ts'

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const dayNames = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

/** Obsolete zones (RFC 5322 4.3), and names that mean one place alone; minutes east of UTC. */
const zones: Readonly<Record<string, number>> = {
  EST: -300,
  EDT: -240,
  CST: -360,
  CDT: -300,
  MST: -420,
  MDT: -360,
  PST: -480,
  PDT: -420,
  AKST: -540,
  AKDT: -480,
  HST: -600,
  NST: -210,
  NDT: -150,
  BST: 60,
  WEST: 60,
  CET: 60,
  MET: 60,
  MEZ: 60,
  CEST: 120,
  MEST: 120,
  MESZ: 120,
  SAST: 120,
  EET: 120,
  EEST: 180,
  MSK: 180,
  MSD: 240,
  IST: 330,
  HKT: 480,
  SGT: 480,
  AWST: 480,
  JST: 540,
  KST: 540,
  ACST: 570,
  ACDT: 630,
  AEST: 600,
  AEDT: 660,
  NZST: 720,
  NZDT: 780,
}

const textLengthMax = 200

const clockForm =
  '(?<hour>\\d{1,2})\\s{0,3}[:.]\\s{0,3}(?<minute>\\d{1,2})(?:\\s{0,3}[:.]\\s{0,3}(?<second>\\d{1,2}))?(?:\\.\\d{1,9})?' +
  '(?:\\s{0,2}(?<half>[ap])\\.?m\\b\\.?)?'
/** `GMT+0200`, as programs in browsers write it, is two hours east. */
const zoneForm =
  '(?:(?:gmt|utc)?(?<sign>[+-])(?<zoneHours>\\d{1,2}):?(?<zoneMinutes>\\d{2})?(?!\\d)|(?<zone>[a-z]{1,5})(?<summer>\\sdst\\b)?)'
const monthForm = '(?<month>[a-z]{3})[a-z]{0,6}\\.?'

/** `2 Jan 2006 15:04:05 -0700`, which is most of all; what `date` and scripts write. */
const forms = [
  `(?<!\\d)(?<day>\\d{1,2})[\\s-]{1,3}${monthForm}[\\s,-]{1,3}(?<year>\\d{2,5})[\\s,]{1,3}${clockForm}\\s{0,3}${zoneForm}?`,
  `${monthForm}\\s{1,3}(?<day>\\d{1,2}),?\\s{1,3}(?<year>\\d{4}),?\\s{1,3}(?:at\\s)?${clockForm}\\s{0,3}${zoneForm}?`,
  `${monthForm}\\s{1,3}(?<day>\\d{1,2})\\s{1,3}${clockForm}\\s{1,3}${zoneForm}\\s{1,3}(?<year>\\d{4,5})`,
  `${monthForm}\\s{1,3}(?<day>\\d{1,2})\\s{1,3}${clockForm}\\s{1,3}(?<year>\\d{4,5})(?:\\s{1,3}${zoneForm})?`,
].map(form => new RegExp(form, 'i'))
const dayAlone = new RegExp(`(?<!\\d)(?<day>\\d{1,2})[\\s-]{1,3}${monthForm}[\\s,-]{1,3}(?<year>\\d{2,4})(?!\\d)`, 'i')

type Written = Readonly<Record<string, string | undefined>>

/** Milliseconds since 1970 of a Date field's value, or null. */
export function parseDate(value: string): number | null {
  const text = uncommented(value)
  const written = writtenIn(text, forms)
  if (written === null) return isoDate(text, true) ?? parseDay(value)
  const { half } = written
  const number = (name: string) => Number(written[name] ?? 0)
  const [given, m, s] = [number('hour'), number('minute'), number('second')]
  const h = half === undefined || given > 12 ? given : (given % 12) + (half.toLowerCase() === 'p' ? 12 : 0)
  const day = dayOf(written)
  if (day === null || h > 24 || m > 59 || s > 60) return day
  return valid(day + ((h * 60 + m - minutesEast(written)) * 60 + s) * 1000)
}

function minutesEast({ sign, zoneHours, zoneMinutes, zone = '', summer }: Written): number {
  if (sign === undefined) return (zones[zone.toUpperCase()] ?? 0) + (summer === undefined ? 0 : 60)
  const east = Number(zoneHours) * 60 + Number(zoneMinutes ?? 0)
  if (east >= 24 * 60) return 0
  return sign === '-' ? -east : east
}

/** Midnight in UTC of the day in a Date field, whatever its time and zone; null where there is none. */
export function parseDay(value: string): number | null {
  const text = uncommented(value)
  const written = writtenIn(text, [...forms, dayAlone])
  return written === null ? isoDate(text, false) : dayOf(written)
}

function uncommented(value: string): string {
  return withoutComments(value.slice(0, textLengthMax)).replace(/\s+/g, ' ')
}

function writtenIn(text: string, all: readonly RegExp[]): Written | null {
  for (const form of all) {
    const groups = form.exec(text)?.groups
    if (groups !== undefined && months.includes((groups.month as string).toLowerCase())) return groups
  }
  return null
}

function dayOf({ year = '', month = '', day }: Written): number | null {
  const number = Number(day)
  if (number < 1 || number > 31) return null
  return valid(Date.UTC(fullYear(year), months.indexOf(month.toLowerCase()), number))
}

/** RFC 5322 3.3, in UTC: `Thu, 01 Jan 1970 00:00:00 +0000`. */
export function formatDate(time: number): string {
  const date = new Date(time)
  const day = dayNames[date.getUTCDay()]
  return `${day}, ${two(date.getUTCDate())} ${monthNames[date.getUTCMonth()]} ${year(date)} ${clock(date)} +0000`
}

/** RFC 9051 date-time, in UTC: `01-Jan-1970 00:00:00 +0000`, the day padded with a space. */
export function formatInternalDate(time: number): string {
  const date = new Date(time)
  const day = String(date.getUTCDate()).padStart(2, ' ')
  return `${day}-${monthNames[date.getUTCMonth()]}-${year(date)} ${clock(date)} +0000`
}

const internalDate =
  /^\s?(\d{1,2}-[a-z]{3}-\d{4}) ([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60) ([+-])([01]\d|2[0-3])([0-5]\d)$/i

/** Milliseconds of an RFC 9051 date-time without its quotes, or null; one that no calendar has is none. */
export function parseInternalDate(text: string): number | null {
  const match = internalDate.exec(text)
  const day = parseCalendarDay(match?.[1] ?? '')
  if (match === null || day === null) return null
  const number = (at: number) => Number(match[at])
  const east = (match[5] === '-' ? -1 : 1) * (number(6) * 60 + number(7))
  return valid(day + ((number(2) * 60 + number(3) - east) * 60 + number(4)) * 1000)
}

/** Midnight in UTC of an RFC 9051 date (`1-Feb-2020`), or null where no calendar has it. */
export function parseCalendarDay(text: string): number | null {
  const match = /^(\d{1,2})-([a-z]{3})-(\d{4})$/i.exec(text)
  const month = months.indexOf((match?.[2] ?? '').toLowerCase())
  if (match === null || month < 0) return null
  const [day, year] = [Number(match[1]), Number(match[3])]
  // The year as it is written: what makes dates of numbers takes 99 for 1999.
  const date = new Date(0)
  date.setUTCFullYear(year, month, day)
  return date.getUTCDate() === day ? date.getTime() : null
}

/** mbox `From ` lines: `Thu Jan  1 00:00:00 1970` in UTC. */
export function formatAsctime(time: number): string {
  const date = new Date(time)
  const day = String(date.getUTCDate()).padStart(2, ' ')
  return `${dayNames[date.getUTCDay()]} ${monthNames[date.getUTCMonth()]} ${day} ${clock(date)} ${year(date)}`
}

/** ISO 8601, with its time or the day of it; without a zone it is UTC, never that of this machine. */
function isoDate(text: string, timed: boolean): number | null {
  const iso = /\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:\s?(?:Z|[+-]\d{2}:?\d{2}))?)?/i.exec(text)
  if (!iso) return null
  if (!timed) return valid(Date.parse(iso[0].slice(0, 10)))
  const form = iso[0].replace(' ', 'T').replace(/\s/g, '')
  const zoned = /(?:Z|T.*[+-]\d{2}:?\d{2})$/i.test(form) || form.length === 10
  return valid(Date.parse(zoned ? form : `${form}Z`))
}

function valid(time: number): number | null {
  return Number.isFinite(time) && Math.abs(time) < 253402300800000 ? time : null
}

/** Programs that count years from 1900 write 2001 as 101, 0101 and 19101. */
function fullYear(text: string): number {
  const number = Number(text.length === 5 ? text.replace(/^19/, '') : text)
  if (text.length === 2) return number < 50 ? 2000 + number : 1900 + number
  return number < 1000 ? 1900 + number : number
}

function year(date: Date): string {
  return String(date.getUTCFullYear()).padStart(4, '0')
}

function clock(date: Date): string {
  return `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`
}

function two(number: number): string {
  return String(number).padStart(2, '0')
}
