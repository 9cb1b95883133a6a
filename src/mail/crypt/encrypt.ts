// Messages encrypted for their owner before they are stored: OpenPGP in MIME (RFC 3156).
//
// Promises: what is inside is the message byte for byte; outside stand only the fields that a listing needs (From, To,
// Date, Message-ID, Subject) and those that threads need; what is encrypted already is left alone by whoever asks first
// (outline.ts, isEncrypted). S/MIME is in smime.ts.

import { now } from '#lib/clock.ts'
import { randomHex } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { openpgp } from '#lib/process/lazy.ts'
import { Header } from '../header/header.ts'

type PublicKey = Awaited<ReturnType<ReturnType<typeof openpgp>['readKey']>>

/** What a public key says of itself. */
export interface KeyFacts {
  /** Name and address of the first user id. */
  readonly name: string
  readonly address: string
  /** Hexadecimal, lower case. */
  readonly fingerprint: string
}

const outerFields = ['from', 'to', 'date', 'message-id', 'subject', 'in-reply-to', 'references']

/** Whom a key belongs to; null where it is no public key that can encrypt. */
export async function inspectKey(armored: string): Promise<KeyFacts | null> {
  const key = await readKey(armored)
  if (key === null || (await momentOf(key)) === null) return null
  const [user] = key.users
  return {
    name: user?.userID?.name ?? '',
    address: user?.userID?.email ?? '',
    fingerprint: key.getFingerprint().toLowerCase(),
  }
}

/** The message encrypted to a public key; null where the key cannot be used. */
export async function encryptMessage(message: Buffer, armored: string): Promise<Buffer | null> {
  const key = await readKey(armored)
  const date = key === null ? null : await momentOf(key)
  if (key === null || date === null) return null
  const { createMessage, encrypt } = openpgp()
  const text = (await encrypt({
    message: await createMessage({ binary: new Uint8Array(message) }),
    encryptionKeys: key,
    date,
    format: 'armored',
  })) as string
  const boundary = `openpgp-${randomHex(16)}`
  return Buffer.concat([outerHeader(message, boundary), Buffer.from(body(text, boundary), 'latin1')])
}

async function readKey(armored: string): Promise<PublicKey | null> {
  try {
    const key = await openpgp().readKey({ armoredKey: armored })
    return key.isPrivate() ? key.toPublic() : key
  } catch {
    return null
  }
}

/**
 * A moment at which the key may encrypt: now, or while it was new. Its owner can still read what is encrypted to a key
 * that has expired, and would rather have that than clear text on the disk. Null: never.
 */
async function momentOf(key: PublicKey): Promise<Date | null> {
  const created = new Date(key.getCreationTime().getTime() + 1000)
  for (const date of [new Date(now()), created]) {
    const found = await key.getEncryptionKey(undefined, date).catch(() => null)
    if (found !== null) return date
  }
  return null
}

/** The fields of a message that stay readable outside, each with its line end. */
export function outerFieldsOf(message: Buffer): Buffer[] {
  const { fields, block } = new Header(message.subarray(0, limits.mime.headerBytesMax))
  const kept: Buffer[] = []
  for (const name of outerFields) {
    const field = fields.find(({ key }) => key === name)
    if (field !== undefined) kept.push(block.subarray(field.start, field.end), crlf)
  }
  return kept
}

function outerHeader(message: Buffer, boundary: string): Buffer {
  const own = [
    'MIME-Version: 1.0',
    'Content-Type: multipart/encrypted; protocol="application/pgp-encrypted";',
    ` boundary="${boundary}"`,
    'Content-Description: OpenPGP encrypted message',
    '',
    '',
  ]
  return Buffer.concat([...outerFieldsOf(message), Buffer.from(own.join('\r\n'))])
}

const crlf = Buffer.from('\r\n')

function body(armored: string, boundary: string): string {
  const text = armored.replace(/\r\n?|\n/g, '\r\n').trimEnd()
  return [
    'This is an OpenPGP/MIME encrypted message',
    '',
    `--${boundary}`,
    'Content-Type: application/pgp-encrypted',
    'Content-Description: PGP/MIME version identification',
    '',
    'Version: 1',
    '',
    `--${boundary}`,
    'Content-Type: application/octet-stream; name="encrypted.asc"',
    'Content-Description: OpenPGP encrypted message',
    'Content-Disposition: inline; filename="encrypted.asc"',
    '',
    text,
    '',
    `--${boundary}--`,
    '',
  ].join('\r\n')
}
