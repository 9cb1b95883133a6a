// The mark by which mail of ours is known when it comes back: behind the queue id, in the trace line that it leaves with.
//
// Keyed by message and destination, so that nobody but the hosts of that destination, and whom they show it to, can name it: who got the
// same message elsewhere cannot make up a bounce for them. Pure. A mark says nothing about who shows it.

import { createHmac, timingSafeEqual } from 'node:crypto'

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
const markLength = 16
/** Marks of one report that are looked at. */
const marksMax = 8

export interface ReturnMark {
  /** As in the trace line, 18 hexadecimal digits. */
  readonly queueId: string
  readonly mark: string
}

export function returnMark(secret: string, queueId: string, destination: string): string {
  const bytes = createHmac('sha256', secret).update(`return ${queueId} ${destination.toLowerCase()}`).digest()
  return Array.from(bytes.subarray(0, markLength), byte => alphabet[byte % alphabet.length]).join('')
}

export function isReturnMark(secret: string, { queueId, mark }: ReturnMark, destination: string): boolean {
  const expected = Buffer.from(returnMark(secret, queueId, destination))
  const given = Buffer.from(mark.toLowerCase())
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** Marks that a text names, each once; letters may have changed their case on the way. */
export function returnMarks(text: string): ReturnMark[] {
  const found = new Map<string, ReturnMark>()
  for (const [, id = '', mark = ''] of text.matchAll(
    /\(Teal\)\s{1,10}id\s{1,10}([0-9a-f]{18})\.([a-z2-7]{16})(?![a-z2-7])/gi,
  )) {
    const one = { queueId: id.toLowerCase(), mark: mark.toLowerCase() }
    found.set(`${one.queueId}.${one.mark}`, one)
    if (found.size >= marksMax) break
  }
  return [...found.values()]
}
