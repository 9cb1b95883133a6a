// One attempt at a certificate: the account, the order, the proof, the certificate into use.
//
// What a next attempt needs is on disk before the server is asked for more: the account's key before the account, the
// order with the key of its certificate before the proof. So an attempt that was cut off, by a restart or by a server that
// went away, goes on with the same order, and none is made twice. The certificate before stays in use until the new one,
// which is for the right name and key and still valid, has been put in.

import { generateKeyPair, X509Certificate } from 'node:crypto'
import { promisify } from 'node:util'
import type { Agent } from 'undici'
import type { AcmeAccount, AcmeHandle, OpenOrder } from '#actors/admin/acme.ts'
import type { CertificateHandle } from '#actors/admin/certificate.ts'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { parsePrivateKey } from '#lib/secret/private-key.ts'
import { type AcmeBinding, AcmeRefusal, AcmeSession, certificateRequest, type Order } from '#net/tls/acme.ts'
import { type Certificate, readCertificate } from '#net/tls/certificate.ts'
import type { AcmeRow } from '#store/domains/acme.ts'

export type KeyType = 'ec256' | 'ec384' | 'rsa2048' | 'rsa4096'

export interface AcmeServer extends AcmeBinding {
  readonly directory: string
  readonly email: string
  readonly termsAgreed: boolean
  readonly keyType: KeyType
  readonly userAgent: string
  readonly agent: () => Agent
}

export class AcmeOrders {
  readonly #server: AcmeServer
  readonly #handle: AcmeHandle
  readonly #certificates: CertificateHandle
  /** The account, once the server has confirmed it to this process. */
  #account: Promise<AcmeAccount> | undefined

  constructor(server: AcmeServer, handle: AcmeHandle, certificates: CertificateHandle) {
    this.#server = server
    this.#handle = handle
    this.#certificates = certificates
  }

  /**
   * Fetches the certificate of a row and puts it into use; goes on with the order it has.
   *
   * @throws AcmeRefusal; what `outwardFailure` has a word for; Fault CertNotFound where the certificate is not wanted now
   */
  async fetch(row: AcmeRow, signal: AbortSignal): Promise<Certificate> {
    const session = this.#session(await this.#enter(signal), signal)
    const { order, open } = await this.#order(session, row)
    if (order.status === 'pending') await session.prove(order, this.#handle.challenges)
    const valid = await session.finish(order, await certificateRequest(row.servername, open.key))
    const made = usable(open.key, await session.certificate(valid), row.servername)
    await this.#certificates.renew(row.certificate, made.key, made.cert)
    return made
  }

  /** The account may not be what it was: the server is asked again. */
  forget(): void {
    this.#account = undefined
  }

  /** The order that an earlier attempt left, where the server still has it, or a new one. */
  async #order(session: AcmeSession, row: AcmeRow): Promise<{ order: Order; open: OpenOrder }> {
    const { directory, keyType } = this.#server
    const left = await this.#handle.order(row)
    if (left?.directory === directory) {
      const order = await found(session, left.url)
      if (order !== undefined && order.status !== 'invalid') return { order, open: left }
    }
    const key = await newKey(keyType)
    const order = await session.begin(row.servername)
    const open = { directory, url: order.url, key }
    await this.#handle.keepOrder(row.certificate, open)
    return { order, open }
  }

  /** The account, made where there is none; once for all attempts of this process. */
  #enter(signal: AbortSignal): Promise<AcmeAccount> {
    const account = this.#account ?? this.#register(signal)
    this.#account = account
    account.catch(() => {
      if (this.#account === account) this.#account = undefined
    })
    return account
  }

  async #register(signal: AbortSignal): Promise<AcmeAccount> {
    const { directory } = this.#server
    let account = await this.#handle.account(directory)
    if (account === undefined) {
      account = { key: await newKey('ec256'), url: null }
      await this.#handle.keepAccount(directory, account)
    }
    const url = await this.#confirm(account, signal)
    if (url === account.url) return account
    const confirmed = { key: account.key, url }
    await this.#handle.keepAccount(directory, confirmed)
    return confirmed
  }

  async #confirm(account: AcmeAccount, signal: AbortSignal): Promise<string> {
    const { email, termsAgreed } = this.#server
    try {
      return await this.#session(account, signal).account(email, termsAgreed)
    } catch (error) {
      const forgotten = error instanceof AcmeRefusal && error.kind === 'accountDoesNotExist'
      if (!forgotten || account.url === null) throw error
      return this.#session({ key: account.key, url: null }, signal).account(email, termsAgreed)
    }
  }

  #session({ key, url }: AcmeAccount, signal: AbortSignal): AcmeSession {
    const { directory, userAgent, agent } = this.#server
    return new AcmeSession({ agent: agent(), directory, key, account: url, binding: this.#server, userAgent, signal })
  }
}

/** The order at `url`; undefined where the server does not have it any more. */
async function found(session: AcmeSession, url: string): Promise<Order | undefined> {
  try {
    return await session.find(url)
  } catch (error) {
    if (error instanceof AcmeRefusal && error.word === 'rejected') return undefined
    throw error
  }
}

/** What was issued, where it can be used for `name` now. @throws AcmeRefusal `certificate` */
function usable(key: string, text: string, name: string): Certificate {
  try {
    const own = parsePrivateKey(key)
    if (own === undefined) throw new AcmeRefusal('certificate', 'its key cannot be read')
    const made = readCertificate(own, text, [])
    if (new X509Certificate(made.cert).checkHost(name) === undefined) {
      throw new AcmeRefusal('certificate', 'it is for another name')
    }
    if (made.expires <= now()) throw new AcmeRefusal('certificate', 'it has ended already')
    return made
  } catch (error) {
    throw error instanceof Fault ? new AcmeRefusal('certificate', Object.values(error.details ?? {}).join(', ')) : error
  }
}

const generate = promisify(generateKeyPair)

/** A new private key in PEM, made off the main loop. */
async function newKey(type: KeyType): Promise<string> {
  const { privateKey } = type.startsWith('ec')
    ? await generate('ec', { namedCurve: type === 'ec256' ? 'P-256' : 'P-384' })
    : await generate('rsa', { modulusLength: Number(type.slice('rsa'.length)) })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}
