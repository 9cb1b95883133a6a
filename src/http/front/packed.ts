// Answers to the page that are worth being sent compressed: lists, which say the same names again and again.
//
// The page alone gets them so. Its calls no other origin can make, so nobody can have something of his own compressed beside what
// is secret and look at the length again and again; and clients of the API get what they always got.

import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import { limits } from '#lib/limits.ts'
import { pageHeader } from '../guard/session.ts'

const pack = promisify(gzip)

export const packedHead = '\r\nContent-Encoding: gzip\r\nVary: Accept-Encoding'

/** Whether who asks takes it; to be asked before the request's head becomes invalid. */
export function takesPacked(header: (name: string) => string): boolean {
  return header(pageHeader) === '1' && /(?:^|,)\s*gzip\s*(?:,|$)/i.test(header('accept-encoding'))
}

export function isWorthPacking(bytes: Uint8Array): boolean {
  return bytes.length >= limits.http.packedLengthMin
}

/** Off the main thread, and quick rather than small. */
export function packed(bytes: Uint8Array): Promise<Buffer> {
  return pack(bytes, { level: constants.Z_BEST_SPEED })
}
