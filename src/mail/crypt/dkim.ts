// DKIM (RFC 6376, RFC 8463): keys as operators give them or as they are made here, the DNS record, the signature.
//
// RSA keys have 1024 to 4096 bits (RFC 8301): fewer are worthless, more would hold up the sender. Signatures are
// relaxed/relaxed over the header fields that matter, each
// once more than it is there, and the whole body. Making a key runs beside the main loop.

import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { breathe, now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { dkimSigner, type SignedHeaders } from '#lib/process/lazy.ts'
import { parsePrivateKey } from '#lib/secret/private-key.ts'
import { domainToAscii } from '../address/address.ts'
import { fieldRows } from '../header/field-rows.ts'

/** What signs the mail of a domain. */
export interface SigningKey {
  /** In unicode or `xn--`. */
  readonly domain: string
  readonly selector: string
  /** PKCS#8 in PEM. */
  readonly privateKey: string
}

const seedPrefix = Buffer.from('302e020100300506032b657004220420', 'hex')
const publicPrefixBytes = 12

/** The key in PEM, or in a raw Ed25519 seed of 32 bytes in base64; undefined where it is none that can sign. */
export function readSigningKey(text: string): KeyObject | undefined {
  const trimmed = text.trim()
  const key = /^[A-Za-z0-9+/]{43}=$/.test(trimmed) ? fromSeed(trimmed) : parsePrivateKey(trimmed)
  if (key?.asymmetricKeyType === 'ed25519') return key
  const bits = key?.asymmetricKeyType === 'rsa' ? (key.asymmetricKeyDetails?.modulusLength ?? 0) : 0
  return bits >= limits.dkim.rsaBitsMin && bits <= limits.dkim.rsaBitsMax ? key : undefined
}

function fromSeed(text: string): KeyObject {
  const seed = Buffer.from(text, 'base64')
  return createPrivateKey({ key: Buffer.concat([seedPrefix, seed]), format: 'der', type: 'pkcs8' })
}

/** A new RSA key, which every verifier understands. */
export async function makeSigningKey(): Promise<KeyObject> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: limits.dkim.rsaBits })
  return privateKey
}

/** A new Ed25519 key (RFC 8463), short in DNS; not every verifier understands it. */
export async function makeShortKey(): Promise<KeyObject> {
  const { privateKey } = await promisify(generateKeyPair)('ed25519')
  return privateKey
}

/** The public half in PEM (SubjectPublicKeyInfo). */
export function publicPem(key: KeyObject): string {
  return createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString()
}

/** The TXT record that makes signatures with the key valid (RFC 6376 3.6.1; RFC 8463 4.2 for Ed25519). */
export function dnsTxt(domain: string, selector: string, publicKey: string): { name: string; value: string } {
  const key = createPublicKey(publicKey)
  const der = key.export({ type: 'spki', format: 'der' })
  const short = key.asymmetricKeyType === 'ed25519'
  const bytes = short ? der.subarray(publicPrefixBytes) : der
  const name = `${selector}._domainkey.${domainToAscii(domain)}`
  return { name, value: `v=DKIM1;${short ? 'k=ed25519;' : ''}t=s;p=${bytes.toString('base64')}` }
}

/**
 * The DKIM-Signature fields for a message, each with its CRLF, to be put on top of it; empty where it has no From field,
 * since such a signature is void (RFC 6376 5.4).
 *
 * @param message the whole message with CRLF line ends, exactly as it will be sent
 */
export async function signatures(
  message: AsyncIterable<Uint8Array> | Iterable<Uint8Array> | Buffer,
  keys: readonly SigningKey[],
): Promise<string> {
  if (keys.length === 0) return ''
  const pieces = Buffer.isBuffer(message) ? [message] : message
  const signer = makeSigner({
    signTime: new Date(now()),
    headerList: covered,
    signatureData: keys.map(({ domain, selector, privateKey }) => ({
      signingDomain: domainToAscii(domain),
      selector,
      privateKey,
    })),
  })
  await pipeline(inSlices(pieces), signer)
  const failed = signer.errors.find(({ err }) => err.code !== 'ENOFROM')
  if (failed !== undefined) throw failed.err
  return signer.signatureHeaders.map(field => `${field}\r\n`).join('')
}

/** Signed once more than they are there, so that one that is added on the way breaks the signature (RFC 6376 8.15). */
const sealed = [
  ...['From', 'Sender', 'Reply-To', 'Subject', 'Date', 'Message-ID', 'To', 'Cc'],
  ...['MIME-Version', 'Content-Type', 'Content-Transfer-Encoding'],
]
/**
 * Signed where they are there: what the library signs (RFC 6376 5.4.1), and what is nothing worth to a reader without: one click that ends a
 * subscription (RFC 8058 4 wants both fields signed), what large services count complaints by, keys, and what is said of TLS.
 */
const covered = [
  ...sealed,
  ...['Content-ID', 'Content-Description', 'In-Reply-To', 'References', 'BIMI-Selector', 'Feedback-ID', 'Autocrypt'],
  ...['Resent-Date', 'Resent-From', 'Resent-Sender', 'Resent-To', 'Resent-Cc', 'Resent-Message-ID'],
  ...['List-Id', 'List-Help', 'List-Unsubscribe', 'List-Unsubscribe-Post', 'List-Subscribe', 'List-Post', 'List-Owner'],
  ...['List-Archive', 'TLS-Required', 'TLS-Report-Domain', 'TLS-Report-Submitter'],
].join(':')

const sealedKeys = new Set(sealed.map(name => name.toLowerCase()))

/** One class for all messages: the engine would keep a class of each for as long as it keeps old garbage. */
let sealing: ReturnType<typeof sealingSigner> | undefined

function makeSigner(options: object) {
  sealing ??= sealingSigner()
  return new sealing(options)
}

function sealingSigner() {
  return class extends dkimSigner() {
    /** Its own reader takes minutes for a header that is folded without end. */
    override async emitHeaders(last: Buffer = Buffer.alloc(0)): Promise<void> {
      this.state = 'body'
      this.headers = fieldRows(Buffer.concat([...this.headerChunks, last])) as SignedHeaders
      await this.messageHeaders(this.headers)
    }

    override messageHeaders(headers: SignedHeaders): Promise<void> {
      // Fields are named from the last one up: behind the name of the first, each of these stands for one that is not there.
      const first = headers.parsed.find(({ key }) => sealedKeys.has(key))
      if (first !== undefined) first.casedKey = [first.casedKey, ...sealed].join(': ')
      return super.messageHeaders(headers)
    }
  }
}

/** The same bytes with a pause in time, since the signer itself never makes one. */
export async function* inSlices(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { chunkBytes } = limits.body
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += chunkBytes) {
      if (at > 0 || piece.length >= chunkBytes) await breathe()
      yield piece.subarray(at, at + chunkBytes)
    }
  }
}
