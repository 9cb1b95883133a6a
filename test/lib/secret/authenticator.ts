// A security key in software: makes keys, registrations and answers as Web Authentication Level 3 (6.1, 6.5) has them,
// with everything that can be wrong about them at the caller's choice.

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'

export type Algorithm = 'ES256' | 'RS256' | 'EdDSA'

export interface Request {
  readonly challenge: string
  readonly origin: string
  readonly rpId: string
}

export interface Quirks {
  readonly type?: string
  readonly challenge?: string
  readonly origin?: string
  readonly rpId?: string
  readonly crossOrigin?: boolean
  /** Flag bits of the authenticator data; UP alone by default. */
  readonly flags?: number
  readonly extra?: Readonly<Record<string, unknown>>
  /** Writes the CBOR of a registration; the shortest form by default. */
  readonly write?: (value: Cbor) => Buffer
}

const cose = { ES256: -7, RS256: -257, EdDSA: -8 } as const

export class Authenticator {
  readonly id: Buffer
  counter: number
  readonly #algorithm: Algorithm
  readonly #key: KeyObject

  constructor(algorithm: Algorithm, options: { key?: KeyObject; id?: Buffer; counter?: number } = {}) {
    this.#algorithm = algorithm
    this.#key = options.key ?? makeKey(algorithm)
    this.id = options.id ?? randomBytes(32)
    this.counter = options.counter ?? 0
  }

  /** What a browser sends after registering this key; attestation none, or packed by the key itself. */
  register(request: Request, quirks: Quirks = {}, attestation: 'none' | 'packed' = 'none', aaguid = Buffer.alloc(16)) {
    const clientData = clientDataOf('webauthn.create', request, quirks)
    const write = quirks.write ?? cbor
    const idLength = Buffer.alloc(2)
    idLength.writeUInt16BE(this.id.length)
    const data = Buffer.concat([
      this.#head(request, { flags: 0x41, ...quirks }),
      ...[aaguid, idLength, this.id, write(this.publicKey())],
    ])
    const statement: Cbor =
      attestation === 'none'
        ? new Map()
        : new Map<string, Cbor>([
            ['alg', cose[this.#algorithm]],
            ['sig', this.#sign(data, clientData)],
          ])
    const object = new Map<string, Cbor>([
      ['fmt', attestation],
      ['attStmt', statement],
      ['authData', data],
    ])
    return {
      rawId: this.id.toString('hex'),
      clientDataJSON: clientData.toString('hex'),
      attestationObject: write(object).toString('hex'),
    }
  }

  /** What a browser sends to log in with this key. */
  login(request: Request, quirks: Quirks = {}) {
    if (this.counter > 0) this.counter += 1
    const clientData = clientDataOf('webauthn.get', request, quirks)
    const data = this.#head(request, { flags: 0x01, ...quirks })
    return {
      rawId: this.id.toString('hex'),
      clientDataJSON: clientData.toString('hex'),
      authenticatorData: data.toString('hex'),
      signature: this.#sign(data, clientData).toString('hex'),
    }
  }

  /** The COSE_Key (RFC 9052 7, RFC 9053 7). */
  publicKey(): Map<number, Cbor> {
    const jwk: JsonWebKey = createPublicKey(this.#key).export({ format: 'jwk' })
    const part = (name: 'x' | 'y' | 'n' | 'e') => Buffer.from(jwk[name] ?? '', 'base64url')
    const alg: [number, Cbor] = [3, cose[this.#algorithm]]
    if (this.#algorithm === 'RS256') return new Map<number, Cbor>([[1, 3], alg, [-1, part('n')], [-2, part('e')]])
    if (this.#algorithm === 'EdDSA') return new Map<number, Cbor>([[1, 1], alg, [-1, 6], [-2, part('x')]])
    return new Map<number, Cbor>([[1, 2], alg, [-1, 1], [-2, part('x')], [-3, part('y')]])
  }

  #head(request: Request, quirks: Quirks): Buffer {
    const rest = Buffer.alloc(5)
    rest[0] = quirks.flags ?? 0x01
    rest.writeUInt32BE(this.counter, 1)
    return Buffer.concat([sha256(Buffer.from(quirks.rpId ?? request.rpId)), rest])
  }

  #sign(data: Buffer, clientData: Buffer): Buffer {
    const message = Buffer.concat([data, sha256(clientData)])
    return sign(this.#algorithm === 'EdDSA' ? null : 'sha256', message, this.#key)
  }
}

/** A P-256 key from its private number. */
export function keyFromScalar(hex: string): KeyObject {
  // RFC 5915 without the public key, in PKCS #8.
  const head = '3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420'
  return createPrivateKey({ key: Buffer.from(head + hex, 'hex'), format: 'der', type: 'pkcs8' })
}

export type Cbor = string | number | boolean | Buffer | Map<string, Cbor> | Map<number, Cbor>

/** The few forms of CBOR (RFC 8949) that are needed here. */
export function cbor(value: Cbor): Buffer {
  if (typeof value === 'boolean') return Buffer.from([value ? 0xf5 : 0xf4])
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  const entries: (readonly [string | number, Cbor])[] = [...value.entries()]
  return Buffer.concat([head(5, entries.length), ...entries.flatMap(([key, inner]) => [cbor(key), cbor(inner)])])
}

function sha256(data: Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}

/** The same with every length and number in eight bytes. */
export function wideCbor(value: Cbor): Buffer {
  const wide = (major: number, number: number) => {
    const bytes = Buffer.alloc(9)
    bytes[0] = (major << 5) | 27
    bytes.writeBigUInt64BE(BigInt(number), 1)
    return bytes
  }
  if (typeof value === 'boolean') return cbor(value)
  if (typeof value === 'number') return value >= 0 ? wide(0, value) : wide(1, -1 - value)
  const bytes = typeof value === 'string' ? Buffer.from(value) : value
  if (Buffer.isBuffer(bytes)) return Buffer.concat([wide(typeof value === 'string' ? 3 : 2, bytes.length), bytes])
  const entries: (readonly [string | number, Cbor])[] = [...bytes.entries()]
  return Buffer.concat([
    wide(5, entries.length),
    ...entries.flatMap(([key, inner]) => [wideCbor(key), wideCbor(inner)]),
  ])
}

/** The same with strings in pieces and maps up to a stop, of no stated length. */
export function streamedCbor(value: Cbor): Buffer {
  const stop = Buffer.from([0xff])
  if (typeof value === 'boolean' || typeof value === 'number') return cbor(value)
  if (typeof value === 'string')
    return Buffer.concat([Buffer.from([0x7f]), cbor(value.slice(0, 1)), cbor(value.slice(1)), stop])
  if (Buffer.isBuffer(value)) {
    return Buffer.concat([Buffer.from([0x5f]), cbor(value.subarray(0, 5)), cbor(value.subarray(5)), stop])
  }
  const entries: (readonly [string | number, Cbor])[] = [...value.entries()]
  const inner = entries.flatMap(([key, one]) => [streamedCbor(key), streamedCbor(one)])
  return Buffer.concat([Buffer.from([0xbf]), ...inner, stop])
}

function head(major: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(major << 5) | value])
  if (value < 256) return Buffer.from([(major << 5) | 24, value])
  return Buffer.from([(major << 5) | 25, value >> 8, value & 255])
}

/** In the order of 5.8.1.1, as browsers serialise it. */
function clientDataOf(type: string, request: Request, quirks: Quirks): Buffer {
  return Buffer.from(
    JSON.stringify({
      type: quirks.type ?? type,
      challenge: Buffer.from(quirks.challenge ?? request.challenge, 'hex').toString('base64url'),
      origin: quirks.origin ?? request.origin,
      crossOrigin: quirks.crossOrigin ?? false,
      ...quirks.extra,
    }),
  )
}

function makeKey(algorithm: Algorithm): KeyObject {
  if (algorithm === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  if (algorithm === 'EdDSA') return generateKeyPairSync('ed25519').privateKey
  return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
}
