// The certificates of all listeners: a context by the host name a client asks for, and a default for the rest.
//
// Promises: a certificate may be put in or replaced while connections are open, the next handshake uses it; TLS 1.2 at
// least; a key that does not belong to its certificate is refused before it replaces one that works. Where the operator
// gives none, one is made for the host name and kept (self-signed.ts).

import { constants, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createSecureContext, DEFAULT_CIPHERS, type SecureContext, TLSSocket } from 'node:tls'
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
    return createSecureContext(contextOptions(pair, minVersion))
  } catch (error) {
    throw error instanceof Fault ? error : new Fault('CertificateInvalid', { cause: error })
  }
}

/** The same for servers that make their context themselves. @throws Fault CertificateInvalid */
export function contextOptions(pair: KeyPair, minVersion: TlsVersion = 'TLSv1.2') {
  try {
    const key = createPrivateKey(pair.key)
    const belongs = new X509Certificate(pair.cert).checkPrivateKey(key)
    if (!belongs) throw new Fault('CertificateInvalid', { text: 'The private key does not belong to the certificate' })
    // A second handshake within a connection costs a signature and nobody needs one (RFC 9325 3.5).
    const secureOptions = constants.SSL_OP_NO_RENEGOTIATION
    return { key: pair.key, cert: pair.cert, minVersion, secureOptions, ...preferences(key) }
  } catch (error) {
    throw error instanceof Fault ? error : new Fault('CertificateInvalid', { cause: error })
  }
}

/**
 * The order in which a default context wants signatures and ciphers: those that its own key cannot make first. When a name
 * has a certificate with a key of another kind, it joins the default one in the connection instead of replacing it, and
 * this order is what makes the name's be taken.
 */
function preferences({ asymmetricKeyType }: KeyObject) {
  const own = asymmetricKeyType === 'ec' ? 'ecdsa' : asymmetricKeyType?.startsWith('ed') ? 'ed' : 'rsa'
  const { [own]: last, ...others } = signatures
  const named = DEFAULT_CIPHERS.split(':').filter(cipher => /^(ECDHE|DHE)-/.test(cipher))
  const [first, second] = [named.filter(isEcdsa), named.filter(cipher => !isEcdsa(cipher))]
  const rest = DEFAULT_CIPHERS.split(':').filter(cipher => !named.includes(cipher))
  const later = rest.findIndex(cipher => !cipher.startsWith('TLS_'))
  const ordered = own === 'rsa' ? [...first, ...second] : [...second, ...first]
  return {
    sigalgs: [...Object.values(others), last].flat().join(':'),
    ciphers: [...rest.slice(0, later), ...ordered, ...rest.slice(later)].join(':'),
    honorCipherOrder: true,
  }
}

function isEcdsa(cipher: string): boolean {
  return cipher.includes('-ECDSA-')
}

const signatures = {
  ecdsa: ['ecdsa_secp256r1_sha256', 'ecdsa_secp384r1_sha384', 'ecdsa_secp521r1_sha512'],
  ed: ['ed25519', 'ed448'],
  rsa: [
    ...['rsa_pss_rsae_sha256', 'rsa_pss_rsae_sha384', 'rsa_pss_rsae_sha512'],
    ...['rsa_pss_pss_sha256', 'rsa_pss_pss_sha384', 'rsa_pss_pss_sha512'],
    ...['rsa_pkcs1_sha256', 'rsa_pkcs1_sha384', 'rsa_pkcs1_sha512'],
  ],
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

/** The server's side of TLS over a socket; its handshake begins. */
export function secureSocket(plain: Socket | Duplex, store: TlsStore): TLSSocket {
  const socket = new TLSSocket(plain as Socket, {
    isServer: true,
    secureContext: store.context(''),
    SNICallback: (name, done) => done(null, store.context(name)),
  })
  plain.on('error', error => socket.destroy(error))
  // What goes wrong after the handshake a server's socket tells its tls.Server alone, and there is none: it would stay open.
  socket.on('_tlsError', (error: Error) => socket.destroy(error))
  return socket
}
