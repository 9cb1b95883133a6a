// Encryption at rest: what is stored for an account that asks for it is encrypted to its public key first.
//
// The account's own flag or the folder's suffices. Drafts never are, nor what is encrypted already. A key that cannot be
// used encrypts nothing: mail is stored as it came rather than refused. What is forwarded is encrypted by a flag of its own;
// with a key that cannot be used it is not forwarded, since that would take it in the clear out of the house.

import { createHmac } from 'node:crypto'
import type { EncryptKeys } from '#mail/crypt/sealing.ts'
import { isEncrypted } from '#mail/mime/outline.ts'
import type { User } from '#store/accounts/users.ts'
import type { Bodies, Received } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Reads } from '#store/engine/reads.ts'
import type { Numbers } from '#store/engine/sequence.ts'
import { listMailboxes, type Mailbox } from '#store/mailboxes/mailboxes.ts'
import type { Append, Prepared } from '../mailbox/append.ts'
import type { Outgoing } from '../sending/outgoing.ts'
import { prepare } from './prepare.ts'

export interface EncryptionDeps {
  readonly bodies: Bodies
  readonly reads: Reads
}

/** With what an account has its mail encrypted; null where it has given nothing. */
export function keysOf({ options }: User): EncryptKeys | null {
  const { pubKey, smimeCerts: certificates = [], smimeCipher: cipher, smimeKeyTransport: keyTransport } = options
  const smime = certificates.length === 0 ? undefined : { certificates, cipher, keyTransport }
  return smime === undefined && !pubKey ? null : { pubKey: pubKey || undefined, smime }
}

/** Whether messages that are stored in a folder of this account are to be encrypted. */
export function wantsEncryption(user: User, mailbox: { readonly encrypt: boolean } | undefined): boolean {
  return keysOf(user) !== null && (user.options.encryptMessages === true || mailbox?.encrypt === true)
}

/**
 * The message as it is to be stored: another `Received`, which the caller discards like the first, or the same one
 * where it is encrypted already or cannot be.
 */
export async function encrypted({ bodies, reads }: EncryptionDeps, user: User, received: Received): Promise<Received> {
  const keys = keysOf(user)
  if (keys === null || isEncrypted(received.root)) return received
  const chunks: Buffer[] = []
  for await (const chunk of received.stream()) chunks.push(chunk)
  const message = Buffer.concat(chunks)
  const sealed = await reads.encrypt({ message, keys }, { turnKey: user.id })
  if (sealed === null) return received
  return bodies.receive(Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength))
}

/** An incoming message on its way into a folder of an account, as it is to be stored. */
export interface Sealed {
  readonly prepared: Prepared
  /** To be called when the unit that stores it has settled. */
  discard(): Promise<void>
}

/**
 * The same for a message that is delivered: null where it is stored as it came. Copies of it are known, though each is
 * encrypted anew.
 *
 * @param how `bytes` gives the message from its first byte; `secret` is kept outside of the database
 */
export async function sealDelivery(
  deps: EncryptionDeps & { readonly read: Reader; readonly sequence: Numbers },
  user: User,
  { to, prepared }: Pick<Append, 'to' | 'prepared'>,
  how: { readonly secret: string; bytes(): AsyncIterable<Buffer> },
): Promise<Sealed | null> {
  if (keysOf(user) === null) return null
  const mailboxes = user.options.encryptMessages === true ? [] : await listMailboxes(deps.read, user.num)
  if (
    !wantsEncryption(
      user,
      mailboxes.find(mailbox => isTarget(mailbox, to)),
    )
  )
    return null
  const { identity } = prepared
  // Keyed: a bare hash would let whoever has the database try out what the message may say.
  const known = identity === '' ? '' : createHmac('sha256', how.secret).update(identity).digest('base64')
  const sealed = await seal(deps, user, how.bytes, known)
  return typeof sealed === 'string' ? null : sealed
}

/** Whether what is forwarded for this account is to be encrypted. */
function wantsForwardEncryption(user: User): boolean {
  return user.options.encryptForwarded === true && keysOf(user) !== null
}

export interface SealedForward {
  /** What may go out; none of what is forwarded where it should be encrypted and cannot be. */
  readonly outgoing: readonly Outgoing[]
  readonly unusable: boolean
  discard(): Promise<void>
}

/** Messages about to be queued for an account, the forwarded ones encrypted where it wants that. */
export async function sealForward(
  deps: EncryptionDeps & { readonly sequence: Numbers },
  user: User,
  outgoing: readonly Outgoing[],
  bytes: () => AsyncIterable<Buffer>,
): Promise<SealedForward> {
  const asIs = { outgoing, unusable: false, discard: async () => {} }
  if (!wantsForwardEncryption(user) || !outgoing.some(({ origin }) => origin === 'forward')) return asIs
  const sealed = await seal(deps, user, bytes)
  if (sealed === 'encrypted') return asIs
  if (sealed === 'unusable') {
    return { ...asIs, outgoing: outgoing.filter(({ origin }) => origin !== 'forward'), unusable: true }
  }
  const { prepared, discard } = sealed
  const encrypted = outgoing.map(one => (one.origin === 'forward' ? { ...one, prepared } : one))
  return { outgoing: encrypted, unusable: false, discard }
}

/** The message encrypted; a word where it is so already, or cannot be. */
async function seal(
  deps: EncryptionDeps & { readonly sequence: Numbers },
  user: User,
  bytes: () => AsyncIterable<Buffer>,
  known?: string,
): Promise<Sealed | 'encrypted' | 'unusable'> {
  const received = await deps.bodies.receiveAll(bytes())
  const stored = await encrypted(deps, user, received).catch(async error => {
    await received.discard()
    throw error
  })
  const discard = async () => {
    await received.discard()
    if (stored !== received) await stored.discard()
  }
  if (stored !== received) return { prepared: await prepare(stored, deps.sequence, known), discard }
  await discard()
  return isEncrypted(received.root) ? 'encrypted' : 'unusable'
}

function isTarget({ id, path, specialUse }: Mailbox, to: Append['to']): boolean {
  if (to === 'INBOX') return path === 'INBOX'
  return 'id' in to ? id === to.id : specialUse === to.specialUse
}
