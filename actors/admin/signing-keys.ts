// Keys that sign the mail of every local domain without being asked for: one of RSA, one of Ed25519 (RFC 6376, RFC 8463).
//
// A key waits until DNS shows it, signs, and is kept to be found for limits.dkim.retiredMs after another one took its place.
// Promises: nothing is ever signed with a key of these that DNS did not show, since receivers would take such mail for forged;
// one that DNS certainly shows no more stops signing; that nobody could say changes nothing. A key that an operator put in
// is in force alone. Changes go through the directory.

import { Fault } from '#lib/fault.ts'
import { newId, randomHex } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { privatePem } from '#lib/secret/private-key.ts'
import type { SecretBox } from '#lib/secret/secret-box.ts'
import { domainToUnicode } from '#mail/address/address.ts'
import { dnsTxt, makeShortKey, makeSigningKey, publicPem } from '#mail/crypt/dkim.ts'
import { holdsDomain } from '#store/accounts/address.ts'
import { findAlias } from '#store/domains/alias.ts'
import {
  findSigningKeyRow,
  type KeyFound,
  keyState,
  keysOf,
  type SigningKeyRow,
  signingKeyDelete,
  signingKeyPut,
} from '#store/domains/signing-key.ts'
import type { Reader } from '#store/engine/reader.ts'
import { type ClockBack, clockNow, signingKeyClockBack, signingKeysAhead } from '#store/upkeep/clock-back.ts'
import type { DirectoryHandle } from '../kernel/system.ts'
import type { DirectoryCommand } from './directory.ts'

/** TXT records of a name as text; empty where there are none, null where nobody could say. */
export type AskTxt = (name: string) => Promise<readonly string[] | null>

const algorithms = ['rsa', 'ed25519'] as const

export class SigningKeys {
  readonly #directory: DirectoryHandle
  readonly #seal: SecretBox
  readonly #ask: AskTxt

  constructor(directory: DirectoryHandle, seal: SecretBox, ask: AskTxt) {
    this.#directory = directory
    this.#seal = seal
    this.#ask = ask
  }

  get read(): Reader {
    return this.#directory.read
  }

  /**
   * Makes the keys that come after those of a domain, or the first ones; where some wait already, nothing is made.
   *
   * @throws Fault DomainNotFound where nobody has an address in the domain
   */
  async rotate(name: string, at: number, signal?: AbortSignal): Promise<SigningKeyRow[]> {
    const domain = domainToUnicode(name)
    if (!(await isLocal(this.read, domain))) throw new Fault('DomainNotFound')
    const known = await keysOf(this.read, domain)
    const waiting = (algorithm: string) => known.some(one => one.state === keyState.next && one.algorithm === algorithm)
    const day = new Date(at).toISOString().slice(0, 10).replaceAll('-', '')
    const mark = `${day}${randomHex(2)}`
    const made: SigningKeyRow[] = []
    for (const algorithm of algorithms) {
      if (waiting(algorithm)) continue
      const key = algorithm === 'rsa' ? await makeSigningKey() : await makeShortKey()
      made.push({
        ...{ id: newId(), domain, selector: `${mark}${algorithm === 'rsa' ? 'r' : 'e'}`, algorithm },
        ...{ key: await this.#seal.seal(privatePem(key)), public: publicPem(key) },
        ...{ state: keyState.next, created: at, since: at, due: at + limits.dkim.firstCheckMs },
        ...{ checked: null, looks: 0, found: null },
      })
    }
    if (made.length > 0) await this.#directory.run(addKeys, { rows: made }, signal)
    return keysOf(this.read, domain)
  }

  /** Asks DNS for one key, and does what follows from the answer. One whose time is over is forgotten. */
  async check(row: SigningKeyRow, at: number, signal?: AbortSignal): Promise<void> {
    const local = await isLocal(this.read, row.domain)
    const over = row.state === keyState.retired && at >= row.due
    if (!local || over) return this.#directory.run(forgetKey, { id: row.id }, signal)
    if (row.state === keyState.retired) return
    const found = await this.#look(row)
    await this.#directory.run(settleKey, { id: row.id, found, at }, signal)
  }

  /** What waits does so as long as it would have, where the clock was ahead and is put right. */
  async clockBack(): Promise<void> {
    const clock = clockNow()
    if (await signingKeysAhead(this.read, clock)) await this.#directory.run(clockBack, clock)
  }

  /** Asks DNS for all keys of a domain that may sign. */
  async checkAll(name: string, at: number, signal?: AbortSignal): Promise<SigningKeyRow[]> {
    const domain = domainToUnicode(name)
    for (const row of await keysOf(this.read, domain)) {
      if (row.state !== keyState.retired) await this.check(row, at, signal)
    }
    return keysOf(this.read, domain)
  }

  async #look({ domain, selector, public: pem }: SigningKeyRow): Promise<KeyFound> {
    const { name, value } = dnsTxt(domain, selector, pem)
    const texts = await this.#ask(name)
    if (texts === null) return 'unknown'
    if (texts.length === 0) return 'absent'
    // RFC 6376 3.6.2.2: what several records mean is not defined.
    return texts.length === 1 && keyOf(texts[0] ?? '') === keyOf(value) ? 'shown' : 'another'
  }
}

/** The public key in a record, white space left out (RFC 6376 3.6.1). */
function keyOf(record: string): string {
  return /(?:^|;)\s*p\s*=([^;]*)/.exec(record)?.[1]?.replace(/\s/g, '') ?? ''
}

async function isLocal(read: Reader, domain: string): Promise<boolean> {
  return (await holdsDomain(read, domain)) || (await findAlias(read, domain)) !== undefined
}

const rowBytes = 4000

export const addKeys: DirectoryCommand<{ rows: readonly SigningKeyRow[] }, Promise<void>> = {
  name: 'signing.add',
  async run(turn, { rows }) {
    for (const row of rows) {
      const known = await keysOf(turn.read, row.domain)
      const waits = known.find(one => one.state === keyState.next && one.algorithm === row.algorithm)
      if (waits === undefined) turn.write(signingKeyPut, row, rowBytes)
    }
  },
}

export const forgetKey: DirectoryCommand<{ id: string }, void> = {
  name: 'signing.forget',
  run(turn, { id }) {
    turn.write(signingKeyDelete, { id })
  },
}

export const clockBack: DirectoryCommand<ClockBack, void> = {
  name: 'signing.clock',
  run(turn, clock) {
    turn.write(signingKeyClockBack, clock)
  },
}

export const settleKey: DirectoryCommand<{ id: string; found: KeyFound; at: number }, Promise<void>> = {
  name: 'signing.settle',
  async run(turn, { id, found, at }) {
    const row = await findSigningKeyRow(turn.read, id)
    if (row === undefined || row.state === keyState.retired) return
    const others = (await keysOf(turn.read, row.domain)).filter(
      one => one.algorithm === row.algorithm && one.id !== id && one.state !== keyState.retired,
    )
    const [other] = others
    const seen = { ...row, found, checked: at, looks: row.looks + 1 }
    if (row.state === keyState.next && found === 'shown') {
      if (other !== undefined) turn.write(signingKeyPut, retired(other, at), rowBytes)
      const due = at + limits.dkim.recheckMs
      return turn.write(signingKeyPut, { ...seen, state: keyState.current, since: at, due, looks: 0 }, rowBytes)
    }
    if (row.state === keyState.current && (found === 'absent' || found === 'another')) {
      // The one that waits comes after it; alone, it waits itself.
      if (other !== undefined) return turn.write(signingKeyPut, retired(row, at), rowBytes)
      const due = at + limits.dkim.firstCheckMs
      return turn.write(signingKeyPut, { ...seen, state: keyState.next, since: at, due, looks: 0 }, rowBytes)
    }
    turn.write(signingKeyPut, { ...seen, due: at + waitOf(seen) }, rowBytes)
  },
}

function retired(row: SigningKeyRow, at: number): SigningKeyRow {
  return { ...row, key: null, state: keyState.retired, since: at, due: at + limits.dkim.retiredMs }
}

function waitOf({ state, looks, found }: SigningKeyRow): number {
  const { recheckMs, firstCheckMs, checkMs } = limits.dkim
  if (state === keyState.current && found === 'shown') return recheckMs
  return Math.min(checkMs, firstCheckMs * 2 ** Math.min(looks, waitsMax))
}

const waitsMax = 10
