// What ACME remembers between attempts and starts: the account of each server and the order of each certificate, keys
// sealed; and the challenges that are open now.
//
// Promises: what is kept is on disk when the promise resolves. A key leaves here in memory only.

import type { SecretBox } from '#lib/secret/secret-box.ts'
import { Challenges } from '#net/tls/challenges.ts'
import {
  type AcmeProgressRow,
  type AcmeRow,
  acmeAccountPut,
  acmeOrderPut,
  acmeProgressPut,
  findAcmeAccount,
  listAcme,
} from '#store/domains/acme.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Writer } from '#store/writer/writer.ts'

export interface AcmeAccount {
  /** PEM. */
  readonly key: string
  readonly url: string | null
}

/** An order under way. */
export interface OpenOrder {
  readonly directory: string
  readonly url: string
  /** Key that its certificate is for, in PEM. */
  readonly key: string
}

export class AcmeHandle {
  readonly challenges = new Challenges()
  readonly #read: Reader
  readonly #writer: Writer
  readonly #seal: SecretBox

  constructor(read: Reader, writer: Writer, seal: SecretBox) {
    this.#read = read
    this.#writer = writer
    this.#seal = seal
  }

  /** All certificates that ACME fetches, those first that are due first. */
  list(): Promise<AcmeRow[]> {
    return listAcme(this.#read)
  }

  /** @throws Fault SealBroken */
  async account(directory: string): Promise<AcmeAccount | undefined> {
    const row = await findAcmeAccount(this.#read, directory)
    return row && { key: await this.#seal.open(row.key), url: row.url }
  }

  async keepAccount(directory: string, { key, url }: AcmeAccount): Promise<void> {
    await this.#writer.write(acmeAccountPut, { directory, key: await this.#seal.seal(key), url })
  }

  /** The order that an earlier attempt left under way. @throws Fault SealBroken */
  async order({ directory, url, key }: AcmeRow): Promise<OpenOrder | undefined> {
    if (directory === null || url === null || key === null) return undefined
    return { directory, url, key: await this.#seal.open(key) }
  }

  /** Keeps when a certificate is due and how it went. */
  keepProgress(progress: AcmeProgressRow): Promise<void> {
    return this.#writer.write(acmeProgressPut, progress)
  }

  /** Keeps the order of a certificate, or that it has none. */
  async keepOrder(certificate: string, order: OpenOrder | null): Promise<void> {
    const { directory = null, url = null } = order ?? {}
    const key = order === null ? null : await this.#seal.seal(order.key)
    await this.#writer.write(acmeOrderPut, { certificate, directory, url, key })
  }
}
