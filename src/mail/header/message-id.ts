// Message-IDs (RFC 5322 3.6.4): for messages that came without one, so that clients have something to know them by, and what makes two
// of them the same.

import { hash } from 'node:crypto'
import { newUuid } from '#lib/id.ts'

/** `<uuid@hostname>`: always the same for a `seed` (RFC 9562 5.8), or a new one where that is empty. */
export function madeMessageId(hostname: string, seed: string): string {
  return `<${seed === '' ? newUuid() : uuidOf(seed)}@${hostname}>`
}

function uuidOf(seed: string): string {
  const bytes = hash('sha256', seed, 'buffer').subarray(0, 16)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** What an id is compared by: in brackets, and without quotes and backslashes that say nothing (RFC 5256 4). */
export function comparableId(id: string): string {
  const whole = id.startsWith('<') || !id.includes('@') ? id : `<${id}>`
  const [quoted, left = ''] = /^<"((?:[^"\\]|\\.)*)"(?=@)/.exec(whole) ?? ['']
  return quoted === '' ? whole : `<${left.replace(/\\(.)/g, '$1')}${whole.slice(quoted.length)}`
}
