// A header block as the library for signatures takes it: its fields with every line that hangs on them, found as the library finds
// them (its own reader is the oracle of the test).
//
// Linear in the block: the library's reader copies what it has with each line that is folded, so that a stranger's header of 256 KB took
// it minutes. What it would read for long besides is left out here: a field that signs, seals or picks a mark and is longer than
// any that is meant. Pure, never throws.

import { limits } from '#lib/limits.ts'
import type { ParsedFields } from '#lib/process/lazy.ts'

/** A name and its colon, which may stand on the next line. */
const begins = /^[\x21-\x39\x3b-\x7e]+[ \t\r\n]*:/

export function fieldRows(block: Buffer): ParsedFields {
  const text = block.toString('latin1')
  const lines = text.slice(0, lastContent(text)).split(/\r?\n/)
  if (lines.length === 1 && lines[0] === '') return { parsed: [] }
  const parsed: ParsedFields['parsed'][number][] = []
  let until = lines.length
  for (let at = lines.length - 1; at >= 0; at--) {
    const next = at + 1 < until ? `${lines[at]}\r\n${lines[at + 1]}` : (lines[at] as string)
    if (at > 0 && !begins.test(next)) continue
    const row = rowOf(lines.slice(at, until).join('\r\n'))
    if (isReadable(row)) parsed.push(row)
    until = at
  }
  return { parsed: parsed.reverse() }
}

function rowOf(line: string): ParsedFields['parsed'][number] {
  const colon = line.indexOf(':')
  const name = colon < 0 ? line : line.slice(0, colon)
  if (name === '') return { key: null, casedKey: undefined, line: Buffer.from(line, 'latin1') }
  const casedKey = trimmed(name.replace(/\r?\n/g, ''))
  const key = casedKey.replace(/[A-Z]+/g, letters => letters.toLowerCase())
  return { key, casedKey, line: Buffer.from(line, 'latin1') }
}

function trimmed(name: string): string {
  const isBlank = (at: number) => name[at] === ' ' || name[at] === '\t'
  let start = 0
  let end = name.length
  while (start < end && isBlank(start)) start += 1
  while (end > start && isBlank(end - 1)) end -= 1
  return name.slice(start, end)
}

/** Without the line ends at the end of it. */
function lastContent(text: string): number {
  let end = text.length
  while (end > 0 && (text[end - 1] === '\r' || text[end - 1] === '\n')) end -= 1
  return end
}

const heavy = /^(?:dkim-signature|arc-.*|bimi-selector)$/s

/** Whether a field costs what is worth reading it. */
function isReadable({ key, line }: ParsedFields['parsed'][number]): boolean {
  if (key === null || !heavy.test(key)) return true
  const { fieldBytesMax, blanksMax, signedNamesMax } = limits.verify
  if (line.length > fieldBytesMax) return false
  let blanks = 0
  let colons = 0
  for (const byte of line) {
    blanks = byte === 0x20 || (byte >= 0x09 && byte <= 0x0d) ? blanks + 1 : 0
    if (byte === 0x3a) colons += 1
    if (blanks > blanksMax || colons > signedNamesMax) return false
  }
  return true
}
