// What may follow in a search that is typed: words of the search language, people whom the account knows, folders, days.
//
// Only what stands at the end is completed. What is suggested of people comes from the service, everything else is here.

import { call } from '../../base/client.ts'
import { folderName, folders, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'

export interface Suggestion {
  /** What stands there instead of what was typed last. */
  readonly text: string
  readonly label: string
  /** More is to be typed behind it. */
  readonly isOpen?: boolean
}

/** Words that take something, and what is suggested for it. */
const keywords = ['from', 'to', 'cc', 'subject', 'in', 'has', 'is', 'before', 'after', 'minsize', 'maxsize'] as const
const peopleKeywords: readonly string[] = ['from', 'to', 'cc']
const shownMax = 8
const dayMs = 86_400_000

/** What stands at the end of the text: `-from:an` as its sign, its keyword and its value. */
export function tailOf(text: string): { start: number; sign: string; keyword: string; value: string } {
  const match = /(?:^|[\s(])(-?)(?:([a-z]+):)?("[^"]*|[^\s"():]*)$/i.exec(text)
  if (match === null) return { start: text.length, sign: '', keyword: '', value: '' }
  const [whole, sign = '', keyword = '', value = ''] = match
  const start = match.index + (/^[\s(]/.test(whole) ? 1 : 0)
  return { start, sign, keyword: keyword.toLowerCase(), value: value.replace('"', '') }
}

export async function suggest(text: string): Promise<readonly Suggestion[]> {
  const { keyword, value, sign } = tailOf(text)
  const found = await suggestFor(keyword, value.toLowerCase())
  return found.slice(0, shownMax).map(one => ({ ...one, text: sign + one.text }))
}

async function suggestFor(keyword: string, value: string): Promise<readonly Suggestion[]> {
  const { searchWords, searchValues, searchDays } = mailTexts.value
  if (peopleKeywords.includes(keyword)) return value === '' ? [] : people(keyword, value)
  if (keyword === 'in') return inFolders(value)
  if (keyword === 'is' || keyword === 'has') {
    const values = Object.entries(searchValues).filter(([name]) => name.startsWith(`${keyword}:${value}`))
    return values.map(([name, label]) => ({ text: name, label }))
  }
  if (keyword === 'before' || keyword === 'after') {
    const days = Object.entries(searchDays).map(([back, label]) => {
      return { text: `${keyword}:${dayOf(Date.now() - Number(back) * dayMs)}`, label }
    })
    return days.filter(({ text }) => text.startsWith(`${keyword}:${value}`))
  }
  if (keyword !== '') return []
  const words = keywords
    .filter(name => name.startsWith(value))
    .map(name => ({ text: `${name}:`, label: searchWords[name], isOpen: true }))
  if (value.length < 2) return words
  return [...words, ...inFolders(value, true), ...(await people('from', value))]
}

async function people(keyword: string, query: string): Promise<Suggestion[]> {
  const wish = { params: { user: user() }, query: { query, limit: 5 } }
  const { results } = await call('GET /users/:user/addressregister', wish)
  return results.map(({ name = '', address }) => ({ text: `${keyword}:${address}`, label: name }))
}

function inFolders(value: string, isName = false): Suggestion[] {
  const named = (folders.value ?? []).map(folder => ({ path: folder.path, label: folderName(folder) }))
  const fits = named.filter(({ path, label }) => {
    const texts = [path.toLowerCase(), label.toLowerCase()]
    return texts.some(text => (isName ? text.startsWith(value) : text.includes(value)))
  })
  return fits.map(({ path, label }) => ({ text: /[\s():"]/.test(path) ? `in:"${path}"` : `in:${path}`, label }))
}

function dayOf(at: number): string {
  const date = new Date(at)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}
