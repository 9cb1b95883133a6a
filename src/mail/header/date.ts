// Dates in mail: the Date field as strangers write it, and the forms that are written here.
//
// Promises: linear, never throws, null for what is no date. A date without a zone is UTC; years of two digits are
// those of RFC 5322 4.3.

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const dayNames = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

/** Obsolete zones (RFC 5322 4.3), minutes east of UTC. */
const zones: Readonly<Record<string, number>> = {
  EST: -300,
  EDT: -240,
  CST: -360,
  CDT: -300,
  MST: -420,
  MDT: -360,
  PST: -480,
  PDT: -420,
  BST: 60,
  CET: 60,
  MET: 60,
  CEST: 120,
  MEST: 120,
  EET: 120,
  EEST: 180,
  MSK: 180,
  IST: 330,
  JST: 540,
}

const textLengthMax = 200
const mailDate =
  /(?<!\d)(\d{1,2})[\s-]{1,3}([a-z]{3})[a-z]{0,6}\.?[\s,-]{1,3}(\d{2,4})[\s,]{1,3}(\d{1,2})\s{0,3}[:.]\s{0,3}(\d{1,2})(?:\s{0,3}[:.]\s{0,3}(\d{1,2}))?(?:\.\d{1,9})?\s{0,3}(?:([+-])(\d{2}):?(\d{2})|([a-z]{1,5}))?/i

/** Milliseconds since 1970 of a Date field's value, or null. */
export function parseDate(value: string): number | null {
  const text = value.slice(0, textLengthMax).replace(/\([^()]*\)/g, ' ')
  const match = mailDate.exec(text)
  if (!match) return otherDate(text)
  const [, day, monthName = '', yearText = '', hour, minute, second = '0', sign, zoneHours, zoneMinutes, zone] = match
  const month = months.indexOf(monthName.toLowerCase())
  if (month < 0) return otherDate(text)
  const offset = sign
    ? (sign === '-' ? -1 : 1) * (Number(zoneHours) * 60 + Number(zoneMinutes))
    : (zones[(zone ?? '').toUpperCase()] ?? 0)
  if (Math.abs(offset) >= 24 * 60) return null
  const [d, h, m, s] = [Number(day), Number(hour), Number(minute), Number(second)]
  if (d < 1 || d > 31 || h > 24 || m > 59 || s > 60) return null
  return valid(Date.UTC(fullYear(yearText), month, d, h, m - offset, s))
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

const internalDate = /^\s?(\d{1,2})-([a-z]{3})-(\d{4}) (\d{2}):(\d{2}):(\d{2}) ([+-])(\d{2})(\d{2})$/i

/** Milliseconds of an RFC 9051 date-time without its quotes, or null. */
export function parseInternalDate(text: string): number | null {
  const match = internalDate.exec(text)
  return match ? parseDate(`${match[1]} ${text.trimStart().slice((match[1] ?? '').length + 1)}`) : null
}

/** mbox `From ` lines: `Thu Jan  1 00:00:00 1970` in UTC. */
export function formatAsctime(time: number): string {
  const date = new Date(time)
  const day = String(date.getUTCDate()).padStart(2, ' ')
  return `${dayNames[date.getUTCDay()]} ${monthNames[date.getUTCMonth()]} ${day} ${clock(date)} ${year(date)}`
}

/** ISO, asctime and whatever else the platform knows; never in the zone of this machine. */
function otherDate(text: string): number | null {
  const asctime =
    /([a-z]{3})[a-z]{0,6}\s{1,3}(\d{1,2})\s{1,3}(\d{1,2}):(\d{2})(?::(\d{2}))?\s{1,3}(?:[a-z]{3,5}\s{1,3})?(\d{4})/i.exec(
      text,
    )
  if (asctime) {
    const [, monthName = '', day, hour, minute, second = '0', yearText = ''] = asctime
    const month = months.indexOf(monthName.toLowerCase())
    if (month >= 0)
      return valid(Date.UTC(Number(yearText), month, Number(day), Number(hour), Number(minute), Number(second)))
  }
  const iso = /\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:\s?(?:Z|[+-]\d{2}:?\d{2}))?)?/i.exec(text)
  if (!iso) return null
  const form = iso[0].replace(' ', 'T').replace(/\s/g, '')
  const zoned = /(?:Z|T.*[+-]\d{2}:?\d{2})$/i.test(form) || form.length === 10
  return valid(Date.parse(zoned ? form : `${form}Z`))
}

function valid(time: number): number | null {
  return Number.isFinite(time) && Math.abs(time) < 253402300800000 ? time : null
}

function fullYear(text: string): number {
  const number = Number(text)
  if (text.length === 2) return number < 50 ? 2000 + number : 1900 + number
  return text.length === 3 ? 1900 + number : number
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
