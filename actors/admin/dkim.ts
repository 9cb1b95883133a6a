// DKIM keys of domains: one each, its private half sealed, opened when mail of the domain is sent.
//
// Promises: a key that was put in or taken away is in force for the next message. Changes go through the directory, in
// its order; keys are read, made and sealed before the turn.

import { Fault, invalid } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { keyFingerprint, privatePem } from '#lib/secret/private-key.ts'
import type { SecretBox } from '#lib/secret/secret-box.ts'
import { domainToUnicode } from '#mail/address/address.ts'
import { makeSigningKey, publicPem, readSigningKey, type SigningKey } from '#mail/crypt/dkim.ts'
import { countDkim, type DkimRow, dkimDelete, dkimPut, findDkim, findDkimFor } from '#store/domains/dkim.ts'
import { currentKeysOf } from '#store/domains/signing-key.ts'
import type { Command } from '../kernel/actor.ts'
import type { DirectoryHandle } from '../kernel/system.ts'
import type { DirectoryState } from './directory.ts'

export interface NewDkim {
  /** In any form. */
  readonly domain: string
  readonly selector: string
  /** PEM or a raw Ed25519 seed in base64; made here where absent. */
  readonly privateKey?: string | undefined
  /** Kept as it was where absent. */
  readonly description?: string | undefined
}

export class DkimHandle {
  readonly #directory: DirectoryHandle
  readonly #seal: SecretBox
  /** Sealed -> opened. */
  readonly #opened = new Map<string, string>()

  constructor(directory: DirectoryHandle, seal: SecretBox) {
    this.#directory = directory
    this.#seal = seal
  }

  /**
   * What signs mail of a domain: exactly this one, parents do not count. Hand it to `signatures` of mail/crypt/dkim.ts.
   *
   * @throws Fault SealBroken
   */
  async findSigningKey(domain: string): Promise<SigningKey | undefined> {
    const row = await findDkimFor(this.#directory.read, domainToUnicode(domain))
    if (row === undefined) return undefined
    return { domain: row.domain, selector: row.selector, privateKey: await this.#open(row.key) }
  }

  /** The same, or else the keys the domain has without being asked, those that DNS shows. @throws Fault SealBroken */
  async findSigningKeys(domain: string): Promise<SigningKey[]> {
    const own = await this.findSigningKey(domain)
    if (own !== undefined) return [own]
    const rows = await currentKeysOf(this.#directory.read, domainToUnicode(domain))
    const keys: SigningKey[] = []
    for (const { domain, selector, key } of rows) {
      if (key !== null) keys.push({ domain, selector, privateKey: await this.#open(key) })
    }
    return keys
  }

  /**
   * Puts in a key, or replaces the one of the same domain.
   *
   * @throws Fault InputValidationError, TooManyDkimKeys
   */
  async put(form: NewDkim, signal?: AbortSignal): Promise<DkimRow> {
    const { selector, privateKey, description } = form
    const key = privateKey === undefined ? await makeSigningKey() : readSigningKey(privateKey)
    if (key === undefined) throw invalid('privateKey', keyWanted)
    const values = {
      domain: domainToUnicode(form.domain),
      selector,
      key: await this.#seal.seal(privatePem(key)),
      public: publicPem(key),
      fingerprint: keyFingerprint(key),
    }
    return this.#directory.run(putDkim, { values, description }, signal)
  }

  /**
   * Gives a key another selector or description; what is absent stays.
   *
   * @throws Fault DkimNotFound
   */
  rename(
    id: string,
    selector: string | undefined,
    description: string | undefined,
    signal?: AbortSignal,
  ): Promise<DkimRow> {
    return this.#directory.run(moveDkim, { id, selector, description }, signal)
  }

  /** @throws Fault DkimNotFound */
  delete(id: string, signal?: AbortSignal): Promise<void> {
    return this.#directory.run(deleteDkim, { id }, signal)
  }

  async #open(sealed: string): Promise<string> {
    const known = this.#opened.get(sealed)
    if (known !== undefined) return known
    const opened = await this.#seal.open(sealed)
    this.#opened.set(sealed, opened)
    const [oldest] = this.#opened.keys()
    if (this.#opened.size > limits.dkim.cachedMax && oldest !== undefined) this.#opened.delete(oldest)
    return opened
  }
}

const keyWanted =
  `must be an RSA key of ${limits.dkim.rsaBitsMin} to ${limits.dkim.rsaBitsMax} bits or an Ed25519 key in PEM that is ` +
  'not encrypted, or an Ed25519 seed of 32 bytes in base64'

type DkimCommand<Input, Reply> = Command<DirectoryState, Input, Promise<Reply>>

interface PutInput {
  readonly values: Pick<DkimRow, 'domain' | 'selector' | 'key' | 'public' | 'fingerprint'>
  readonly description: string | undefined
}

export const putDkim: DkimCommand<PutInput, DkimRow> = {
  name: 'dkim.put',
  async run(turn, { values, description }) {
    const existing = await findDkimFor(turn.read, values.domain)
    if (existing === undefined && (await countDkim(turn.read, '')) >= limits.dkim.keysMax) {
      throw new Fault('TooManyDkimKeys')
    }
    const row: DkimRow = {
      ...values,
      id: existing?.id ?? newId(),
      description: description ?? existing?.description ?? null,
      created: existing?.created ?? turn.now,
    }
    turn.write(dkimPut, row, row.key.length + 1000)
    turn.emit(existing === undefined ? 'dkim.created' : 'dkim.updated', described(row))
    return row
  },
}

interface MoveInput {
  readonly id: string
  readonly selector: string | undefined
  readonly description: string | undefined
}

export const moveDkim: DkimCommand<MoveInput, DkimRow> = {
  name: 'dkim.move',
  async run(turn, { id, selector, description }) {
    const before = await findDkim(turn.read, id)
    if (before === undefined) throw new Fault('DkimNotFound')
    const row = {
      ...before,
      selector: selector ?? before.selector,
      description: description ?? before.description,
    }
    turn.write(dkimPut, row, row.key.length + 1000)
    turn.emit('dkim.updated', described(row))
    return row
  },
}

export const deleteDkim: DkimCommand<{ id: string }, void> = {
  name: 'dkim.delete',
  async run(turn, { id }) {
    const row = await findDkim(turn.read, id)
    if (row === undefined) throw new Fault('DkimNotFound')
    turn.write(dkimDelete, { id })
    turn.emit('dkim.deleted', described(row))
  },
}

function described({ id, domain, selector, fingerprint }: DkimRow) {
  return { dkim: id, domain, selector, fingerprint }
}
