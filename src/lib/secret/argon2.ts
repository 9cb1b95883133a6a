// Checking hashes of Argon2 (RFC 9106): by the library where it has a part for this platform, else by the engine's own, which
// Node has from 24.7 on.
//
// Where there is neither, a check is refused with a text that says what is missing, and never answered with no: a password
// that nobody could look at is not wrong. Costs were bounded before (form.ts). Called on threads of the pool only.

import * as crypto from 'node:crypto'
import { Fault } from '../fault.ts'
import { argon2 } from '../process/lazy.ts'
import { loadNative } from '../process/native.ts'

/** What Node's module has since 24.7. */
interface Engine {
  argon2Sync?(
    algorithm: 'argon2d' | 'argon2i' | 'argon2id',
    options: {
      message: Uint8Array
      nonce: Uint8Array
      parallelism: number
      tagLength: number
      memory: number
      passes: number
    },
  ): Buffer
}

/**
 * Whether `password` is the one of `stored`, PHC text that parseHash has let through.
 *
 * @throws Fault HashError where nothing here can tell
 */
export async function verifyArgon2(stored: string, password: Buffer): Promise<boolean> {
  const library = await loadNative(async () => argon2()).catch(() => undefined)
  return library === undefined ? verifyWithEngine(stored, password) : library.verify(stored, password)
}

/** The same by Node alone. @throws Fault HashError likewise */
export function verifyWithEngine(stored: string, password: Buffer): boolean {
  const { argon2Sync } = crypto as Engine
  const [, algorithm = '', version = '16', costs = '', salt = '', hash = ''] =
    /^\$(argon2(?:id|i|d))(?:\$v=(\d+))?\$([^$]+)\$([^$]+)\$([^$]+)$/.exec(stored) ?? []
  const of = (name: string) => Number(new RegExp(`(?:^|,)${name}=(\\d+)`).exec(costs)?.[1])
  if (argon2Sync === undefined || version !== '19') throw new Fault('HashError', { text: missing(version) })
  const wanted = Buffer.from(hash, 'base64')
  const made = argon2Sync(algorithm as 'argon2id', {
    message: password,
    nonce: Buffer.from(salt, 'base64'),
    ...{ parallelism: of('p'), tagLength: wanted.length, memory: of('m'), passes: of('t') },
  })
  return crypto.timingSafeEqual(made, wanted)
}

function missing(version: string): string {
  const place = `${process.platform} ${process.arch}`
  return version === '19'
    ? `Hashes of argon2 cannot be verified on ${place} with Node before 24.7`
    : `Hashes of argon2 before version 19 cannot be verified on ${place}`
}
