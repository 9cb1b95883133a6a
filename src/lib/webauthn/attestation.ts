// Checking what a security key answers (Web Authentication Level 3, 7.1 and 7.2), by @simplewebauthn/server. For the
// thread of keys: the library takes long to load.
//
// Whatever is wrong with an answer, the fault says what in words of ours: the answer is a stranger's, the library's
// errors are not for them. Attestation was asked for as none, so only forms without a certificate are taken; the library
// would otherwise follow addresses that a stranger's certificate names.

import { createHash, createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { Fault, type FaultCode } from '../fault.ts'
import type { AssertionInput, AttestationInput, Credential } from '../secret/key-tasks.ts'
import { type Cbor, readCbor, writeCbor } from './cbor.ts'
import { algorithms } from './webauthn.ts'

type Library = typeof import('@simplewebauthn/server')

/** The key that a registration brings. @throws Fault InvalidAttestation with the reason */
export async function checkAttestation(input: AttestationInput): Promise<Credential> {
  const refuse = refusing('InvalidAttestation')
  const [rawId, clientData, attestation] = bytes(refuse, input.rawId, input.clientDataJSON, input.attestationObject)
  const problem = clientProblem(clientData, 'webauthn.create', input)
  if (problem !== undefined) return refuse(problem)
  const library: Library = await import('@simplewebauthn/server')
  const id = base64url(rawId)
  const result = await library
    .verifyRegistrationResponse({
      response: {
        ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
        response: {
          clientDataJSON: base64url(clientData),
          attestationObject: base64url(bare(refuse, attestation, clientData)),
        },
      },
      expectedChallenge: base64url(Buffer.from(input.challenge, 'hex')),
      expectedOrigin: input.origin,
      expectedRPID: input.rpId,
      requireUserVerification: false,
      supportedAlgorithmIDs: [...algorithms],
    })
    .catch(cause => refuse(reasonOf(cause), cause))
  if (!result.verified) return refuse('its signature is not right')
  const { credential } = result.registrationInfo
  if (credential.id !== id) return refuse('it is for another key')
  if (!(await isUsable(credential.publicKey))) return refuse('its public key is none')
  const publicKey = Buffer.from(credential.publicKey).toString('hex')
  return { rawId: rawId.toString('hex'), publicKey, counter: credential.counter }
}

/** The signature counter to store, 0 where the key has none. @throws Fault InvalidAssertion with the reason */
export async function checkAssertion(input: AssertionInput): Promise<{ counter: number }> {
  const refuse = refusing('InvalidAssertion')
  const [clientData, data, signature] = bytes(refuse, input.clientDataJSON, input.authenticatorData, input.signature)
  const problem = clientProblem(clientData, 'webauthn.get', input)
  if (problem !== undefined) return refuse(problem)
  const library: Library = await import('@simplewebauthn/server')
  const id = base64url(Buffer.from(input.credential.rawId, 'hex'))
  const result = await library
    .verifyAuthenticationResponse({
      response: {
        ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
        response: {
          clientDataJSON: base64url(clientData),
          authenticatorData: base64url(data),
          signature: base64url(signature),
        },
      },
      expectedChallenge: base64url(Buffer.from(input.challenge, 'hex')),
      expectedOrigin: input.origin,
      expectedRPID: input.rpId,
      credential: {
        id,
        publicKey: new Uint8Array(Buffer.from(input.credential.publicKey, 'hex')),
        counter: input.credential.counter,
      },
      requireUserVerification: input.verified === true,
    })
    .catch(cause => refuse(reasonOf(cause), cause))
  if (!result.verified) return refuse('its signature is not right')
  return { counter: result.authenticationInfo.newCounter }
}

type Refuse = (reason: string, cause?: unknown) => never

function refusing(code: FaultCode & ('InvalidAttestation' | 'InvalidAssertion')): Refuse {
  const what = code === 'InvalidAttestation' ? 'The registration' : 'The answer of the security key'
  return (reason, cause) => {
    throw new Fault(code, { text: `${what} is refused: ${reason}`, cause })
  }
}

function bytes(refuse: Refuse, ...texts: readonly [string, string, string]): [Buffer, Buffer, Buffer] {
  const [a, b, c] = texts.map(text => {
    if (!/^(?:[0-9a-f]{2})+$/i.test(text)) return refuse('it holds something that is not hexadecimal')
    return Buffer.from(text, 'hex')
  })
  return a === undefined || b === undefined || c === undefined ? refuse('a part is missing') : [a, b, c]
}

/** What the library checks too, told apart so that the caller learns which it was (7.1 steps 5 to 11, 7.2 steps 9 to 13). */
function clientProblem(
  data: Buffer,
  type: string,
  asked: { readonly challenge: string; readonly origin: string },
): string | undefined {
  const client = parsed(data)
  if (client === undefined) return 'clientDataJSON is no JSON object'
  if (client.type !== type) return 'it is for another purpose'
  if (client.challenge !== base64url(Buffer.from(asked.challenge, 'hex'))) return 'it is for another challenge'
  if (client.origin !== asked.origin) return 'it comes from another origin'
  return client.crossOrigin === true ? 'it comes from a page inside another' : undefined
}

function parsed(data: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(data.toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/**
 * The attestation object in its shortest form, if it is none or self-signed. The library finds the end of a key by writing
 * it anew, so what stands inside the authenticator data has to be short, too; where a signature covers those bytes as they
 * came, it is checked here and the rest goes on as an attestation of form none (6.5.5, 8.2, 8.7).
 */
function bare(refuse: Refuse, attestation: Buffer, clientData: Buffer): Buffer {
  const object = attempt(() => readCbor(attestation).value)
  const part = (name: string) => (object instanceof Map ? object.get(name) : undefined)
  const [format, statement, data] = [part('fmt'), part('attStmt'), part('authData')]
  if (!(object instanceof Map) || !Buffer.isBuffer(data)) return refuse('attestationObject is no CBOR')
  const own = format === 'packed' && statement instanceof Map && statement.get('x5c') === undefined
  if (format !== 'none' && !own) return refuse('its attestation form was not asked for')
  const short = attempt(() => shortened(data))
  if (short === undefined) return refuse('it is malformed')
  if (short.data.equals(data)) return writeCbor(object)
  if (own && !isSelfSigned(statement, short.key, data, clientData)) return refuse('its signature is not right')
  const empty = own ? new Map<Cbor, Cbor>() : (statement ?? new Map<Cbor, Cbor>())
  return writeCbor(
    new Map<Cbor, Cbor>([
      ['fmt', 'none'],
      ['attStmt', empty],
      ['authData', short.data],
    ]),
  )
}

/** Authenticator data (6.1) with the key and the extensions in it in their shortest form. */
function shortened(data: Buffer): { data: Buffer; key: Cbor | undefined } {
  const flags = data[32] ?? 0
  if ((flags & 0x40) === 0) return { data, key: undefined }
  const begin = 55 + data.readUInt16BE(53)
  const key = readCbor(data, begin)
  const pieces = [data.subarray(0, begin), writeCbor(key.value)]
  if ((flags & 0x80) === 0 || key.end >= data.length) pieces.push(data.subarray(key.end))
  else {
    const extensions = readCbor(data, key.end)
    pieces.push(writeCbor(extensions.value), data.subarray(extensions.end))
  }
  return { data: Buffer.concat(pieces), key: key.value }
}

/** 8.2, self attestation: the key has signed itself. */
function isSelfSigned(statement: Map<Cbor, Cbor>, key: Cbor | undefined, data: Buffer, clientData: Buffer): boolean {
  const signature = statement.get('sig')
  if (!(key instanceof Map) || !Buffer.isBuffer(signature) || statement.get('alg') !== key.get(3)) return false
  const made = attempt(() => createPublicKey({ key: jwkOf(label => key.get(label)), format: 'jwk' }))
  const signed = Buffer.concat([data, createHash('sha256').update(clientData).digest()])
  return made !== undefined && attempt(() => verify('sha256', signed, made, signature)) === true
}

/**
 * Whether a COSE_Key is one that can be verified with: a point of the curve; an RSA modulus of some size and an exponent by which a
 * signature says something (RFC 8017 3.1): with 1 anybody signs, with an even one nobody.
 */
async function isUsable(publicKey: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const { decodeCredentialPublicKey } = await import('@simplewebauthn/server/helpers')
  const key = attempt(() => decodeCredentialPublicKey(publicKey) as unknown as Map<number, unknown>)
  const made = attempt(() => createPublicKey({ key: jwkOf(label => key?.get(label)), format: 'jwk' }))
  if (made === undefined) return false
  if (made.asymmetricKeyType === 'ec') return true
  const { modulusLength = 0, publicExponent = 0n } = made.asymmetricKeyDetails ?? {}
  return modulusLength >= 2048 && publicExponent >= 3n && publicExponent % 2n === 1n
}

/** A COSE_Key as a JSON Web Key, for the two algorithms that are taken (RFC 9053 7). */
function jwkOf(value: (label: number) => unknown): JsonWebKey {
  const part = (label: number) => {
    const bytes = value(label)
    return bytes instanceof Uint8Array ? base64url(Buffer.from(bytes)) : ''
  }
  return value(3) === -7
    ? { kty: 'EC', crv: 'P-256', x: part(-2), y: part(-3) }
    : { kty: 'RSA', n: part(-1), e: part(-2) }
}

function attempt<Value>(task: () => Value): Value | undefined {
  try {
    return task()
  } catch {
    return undefined
  }
}

/** The library's texts in the few words that matter. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : ''
  if (/RP ID/i.test(text)) return 'it is for another relying party'
  if (/counter/i.test(text)) return 'its counter did not grow, the key may have been copied'
  if (/user verification|verified/i.test(text))
    return 'the key does not say who used it, as it must where no password was given'
  if (/present/i.test(text)) return 'nobody touched the key'
  if (/public key alg/i.test(text)) return 'its algorithm was not asked for'
  return 'it is malformed'
}

function base64url(data: Buffer): string {
  return data.toString('base64url')
}
