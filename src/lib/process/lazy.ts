// Large packages that most services never or seldom need, loaded when first asked for instead of at start. Together they
// cost some 30 MB and a quarter of a second, which the person with one small server should not pay for nothing.
// Their types are imported where they are used, which costs nothing.

import type { X509Certificate } from 'node:crypto'
import { createRequire } from 'node:module'
import type { Writable } from 'node:stream'

const load = createRequire(import.meta.url)
/** For what is asked for with each message: to find a module that is loaded takes tens of microseconds. */
const once = <Value>(find: () => Value) => {
  let found: Value | undefined
  return () => {
    found ??= find()
    return found
  }
}

/** The driver of PostgreSQL. */
export const postgres = once((): Postgres => load('pg'))
export type Postgres = typeof import('pg')
/** HTTP clients with connectors of their own. */
export const undici = (): typeof import('undici') => load('undici')
/** Messages from structured input. */
export const mailComposer = (): typeof import('nodemailer/lib/mail-composer')['default'] =>
  load('nodemailer/lib/mail-composer')
/** One MIME node. */
export const mimeNode = (): typeof import('nodemailer/lib/mime-node')['default'] => load('nodemailer/lib/mime-node')
/** An SMTP client. */
export const smtpConnection = (): typeof import('nodemailer/lib/smtp-connection')['default'] =>
  load('nodemailer/lib/smtp-connection')
/** The log for terminals. */
export const prettyLog = (): typeof import('pino-pretty') => load('pino-pretty')
/** Compiled schema checks, for tests that compare answers with their documentation. */
export const schemaCompiler = (): typeof import('typebox/compile') => load('typebox/compile')
/** Puts DKIM signatures together; a stream that takes the message. The package does not describe it. */
export const dkimSigner = (): (new (options: object) => Signer) => load('mailauth/lib/dkim/dkim-signer.js').DkimSigner

interface Signer extends Writable {
  readonly signatureHeaders: readonly string[]
  readonly errors: readonly { readonly err: Error & { readonly code?: string } }[]
  /** What came of the header, while `state` is `header`. */
  readonly headerChunks: readonly Buffer[]
  state: string
  headers: SignedHeaders | undefined
  /** Called with the rest of the header, where there is some. */
  emitHeaders(last?: Buffer): Promise<void>
  /** Called with the fields of the message before its body is looked at. */
  messageHeaders(headers: SignedHeaders): Promise<void>
}

export interface SignedHeaders {
  /** From the top; what has a name twice is there twice. */
  readonly parsed: readonly { readonly key: string; casedKey: string; readonly line: Buffer }[]
}

/** Whether domains are of one organization (RFC 9989 4.10). */
export const alignment = once(
  (): ((domain: string, others: readonly string[]) => unknown) => load('mailauth/lib/tools.js').getAlignment,
)
/** Checks of where mail comes from: SPF, DMARC, ARC. */
export const mailVerifiers = once(() => {
  const spf: typeof import('mailauth/lib/spf/index.js') = load('mailauth/lib/spf/index.js')
  const dmarc: typeof import('mailauth/lib/dmarc/index.js') = load('mailauth/lib/dmarc/index.js')
  const arc: typeof import('mailauth/lib/arc/index.js') = load('mailauth/lib/arc/index.js')
  return {
    spf: spf.spf,
    evaluateDmarc: dmarc.evaluateDmarc,
    arc: arc.arc,
    getARChain: arc.getARChain,
  }
})
/** Of the same library, the parts that check signatures, which the package does not describe. */
export const signatureChecks = once((): SignatureChecks => {
  const { getPublicKey, toALabel, formatAuthHeaderRow } = load('mailauth/lib/tools.js')
  const { DkimVerifier } = load('mailauth/lib/dkim/dkim-verifier.js')
  return { getPublicKey, toALabel, formatAuthHeaderRow, DkimVerifier }
})

interface SignatureChecks {
  /** The key of a record, as PEM. @throws with `code` and `rr` where there is none that can be used */
  readonly getPublicKey: (
    type: string,
    name: string,
    bitsMin: number | undefined,
    resolver: (name: string, type: string) => Promise<unknown>,
    asked: object,
  ) => Promise<{
    readonly publicKey: string
    readonly rr?: string
    readonly testing?: boolean
    readonly warnings?: readonly string[]
  }>
  readonly toALabel: (name: string) => string
  /** One result as Authentication-Results has it. */
  readonly formatAuthHeaderRow: (method: string, status: object, how: { readonly strict: boolean }) => string
  readonly DkimVerifier: new (options: object) => SignatureVerifier
}

export interface ParsedFields {
  /** From the top; a line that names no field has no key. */
  readonly parsed: readonly {
    /** The name in lower case, and as it is written. */
    readonly key: string | null
    readonly casedKey: string | undefined
    readonly line: Buffer
  }[]
}

/** One message's signatures. What it finds is what `dkimVerify` of the package gives. */
interface SignatureVerifier {
  headers: unknown
  keyCache: unknown
  readonly arc: object
  /** By canonicalization, algorithm and covered bytes. */
  readonly bodyHashes: Map<string, { update(chunk: Uint8Array): void }>
  readonly headerFrom: readonly string[]
  readonly fromFields: number
  readonly results: Awaited<ReturnType<typeof import('mailauth/lib/dkim/verify.js')['dkimVerify']>>['results']
  messageHeaders(headers: object): Promise<void>
  /** Called by it for each signature: makes a hash where there is none like it. @returns its key */
  addBodyHash(canonicalization: string, algorithm: string, covered: number | ''): string
  /** When the body hashes are known. */
  finalChunk(): Promise<void>
}

/** What a domain asserts of its mark (BIMI). */
export const markLookup = once(
  (): typeof import('mailauth/lib/bimi/index.js')['bimi'] => load('mailauth/lib/bimi/index.js').bimi,
)
/** Certificates of the authorities for marks that are known. */
export const markAuthorities = (): readonly X509Certificate[] => load('@postalsys/vmc').RootStore.create().rootCerts
/** Puts a set of ARC fields together. */
export const arcSealer = (): Pick<typeof import('mailauth/lib/arc/index.js'), 'createSeal' | 'getARChain'> =>
  load('mailauth/lib/arc/index.js')
/** A password hash that others made. */
export const argon2 = (): typeof import('argon2') => load('argon2')
/** OpenPGP keys and messages. */
export const openpgp = (): typeof import('openpgp') => load('openpgp')
/** Documents of a database whose exports are taken in. */
export const bson = (): typeof import('bson') => load('bson')
/** Character sets that the engine does not know. */
export const iconv = once((): typeof import('iconv-lite') => load('iconv-lite'))
/** Types of files by their names. */
export const mimeTypes = once((): typeof import('mime-types') => load('mime-types'))
/** Loads what odd mail of strangers asks for: the first such message would halt everybody for 60 ms. */
export function loadForMail(): void {
  mimeTypes()
  iconv().encodingExists('')
}

/** An IMAP client. */
export const imapFlow = (): typeof import('imapflow') => load('imapflow')
/** An ACME client (RFC 8555); net/tls/acme.ts makes its calls for it. */
export const acmeClient = (): typeof import('acme-client') => load('acme-client')

/**
 * Node's own HTTP. Importing it would look at each name it exports, and one of them brings a whole client for the web along:
 * a tenth of a start.
 */
export const plainHttp = (): typeof import('node:http') => process.getBuiltinModule('node:http')
/** The same over TLS. */
export const secureHttp = (): typeof import('node:https') => process.getBuiltinModule('node:https')
