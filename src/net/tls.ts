// The certificates of all listeners: a context by the host name a client asks for, and a default for the rest.
//
// Promises: a certificate may be put in or replaced while connections are open, the next handshake uses it; TLS 1.2 at
// least; a key that does not belong to its certificate is refused before it replaces one that works. Where the operator
// gives none, one is made for the host name and kept (self-signed.ts).

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls'
import { Fault } from '#lib/fault.ts'

export type TlsVersion = 'TLSv1.2' | 'TLSv1.3'

/** PEM texts; `cert` is a chain with the own certificate first. */
export interface KeyPair {
  readonly key: string
  readonly cert: string
}

/** How a TLS connection was agreed on. */
export interface TlsInfo {
  /** 'TLSv1.3' for example. */
  readonly protocol: string
  readonly cipher: string
  /** Host name the client asked for; empty where it gave none. */
  readonly servername: string
}

interface Entry {
  readonly pair: KeyPair
  readonly context: SecureContext
}

export class TlsStore {
  readonly #entries = new Map<string, Entry>()
  readonly #minVersion: TlsVersion
  #initial: Entry

  /**
   * @param pair what a client gets that asks for no name or an unknown one
   * @throws Fault CertificateInvalid
   */
  constructor(pair: KeyPair, minVersion: TlsVersion = 'TLSv1.2') {
    this.#minVersion = minVersion
    this.#initial = this.#build(pair)
  }

  /**
   * Puts in or replaces the certificate for host names, wildcards ('*.example.com') or, with '', the default.
   *
   * @throws Fault CertificateInvalid, the one before then staying in use
   */
  update(names: string | readonly string[], key: string, cert: string): void {
    const entry = this.#build({ key, cert })
    for (const name of typeof names === 'string' ? [names] : names) {
      if (name === '') this.#initial = entry
      else this.#entries.set(name.toLowerCase(), entry)
    }
  }

  /** Takes the certificate for a name out; clients that ask for it get the default. */
  remove(name: string): void {
    this.#entries.delete(name.toLowerCase())
  }

  /** What to speak TLS with to a client that asked for `name`; '' is the default. */
  context(name: string): SecureContext {
    return this.#find(name).context
  }

  /** The same as PEM texts, for servers that want those. */
  pair(name: string): KeyPair {
    return this.#find(name).pair
  }

  #find(name: string): Entry {
    if (name === '' || this.#entries.size === 0) return this.#initial
    const host = name.toLowerCase()
    const parent = host.indexOf('.')
    return this.#entries.get(host) ?? this.#entries.get(`*${parent < 0 ? '' : host.slice(parent)}`) ?? this.#initial
  }

  #build(pair: KeyPair): Entry {
    return { pair, context: secureContext(pair, this.#minVersion) }
  }
}

/** What a handshake needs of a certificate. @throws Fault CertificateInvalid */
export function secureContext(pair: KeyPair, minVersion: TlsVersion): SecureContext {
  try {
    const belongs = new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key))
    if (!belongs) throw new Fault('CertificateInvalid', { text: 'The private key does not belong to the certificate' })
    return createSecureContext({ key: pair.key, cert: pair.cert, minVersion })
  } catch (error) {
    throw error instanceof Fault ? error : new Fault('CertificateInvalid', { cause: error })
  }
}

/** How TLS was agreed on, once the handshake is made. */
export function tlsInfo(socket: TLSSocket): TlsInfo {
  const { servername } = socket as { servername?: string | false }
  return {
    protocol: socket.getProtocol() ?? '',
    cipher: socket.getCipher()?.standardName ?? '',
    servername: typeof servername === 'string' ? servername : '',
  }
}
