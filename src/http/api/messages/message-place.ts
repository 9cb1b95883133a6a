// Finding the folder and the message that a path names, for all endpoints on messages. Another account's are not found.
//
// Flags of the API are turned into bits here and nowhere else; absent ones stay as they are.

import type { UserHandle } from '#actors/kernel/system.ts'
import { storeFlags, type UidRanges } from '#actors/mailbox/message.ts'
import { Fault, invalid } from '#lib/fault.ts'
import { flag } from '#mail/flags.ts'
import type { Reader } from '#store/engine/reader.ts'
import { findMailbox, findMailboxByPath, type Mailbox } from '#store/mailboxes/mailboxes.ts'
import { findMessage, type Outlined } from '#store/mailboxes/messages.ts'
import { messageId, userId } from '../../schema.ts'
import { mailboxOrResolve, requireUser } from './mailboxes.ts'

/** Parameters of a path to one message. */
export const place = { user: userId, mailbox: mailboxOrResolve, message: messageId }

/** @throws Fault UserNotFound, NoSuchMailbox, InputValidationError where `resolve` has no path */
export async function mailboxOf(read: Reader, user: string, id: string, path?: string): Promise<Mailbox> {
  const { num } = await requireUser(read, user)
  if (id === 'resolve' && path === undefined) throw invalid('path', 'is required')
  const found = id === 'resolve' ? await findMailboxByPath(read, num, path ?? '') : await findMailbox(read, num, id)
  if (found === undefined) throw new Fault('NoSuchMailbox')
  return found
}

/** @throws Fault UserNotFound, NoSuchMailbox, MessageNotFound */
export async function messageOf(
  read: Reader,
  input: { readonly user: string; readonly mailbox: string; readonly message: number },
): Promise<{ mailbox: Mailbox; message: Outlined }> {
  const mailbox = await mailboxOf(read, input.user, input.mailbox)
  const message = await findMessage(read, mailbox.num, input.message)
  if (message === undefined) throw new Fault('MessageNotFound')
  return { mailbox, message }
}

/** Flags as the API has them; absent ones stay as they are. */
export interface FlagWishes {
  readonly seen?: boolean
  readonly deleted?: boolean
  readonly flagged?: boolean
  readonly draft?: boolean
}

/** Turns the asked flags on and off; returns how many messages there were. Flagging says `marked.ham` unless `quiet`. */
export async function setFlags(
  handle: UserHandle,
  mailbox: string,
  uids: UidRanges,
  wishes: FlagWishes,
  signal: AbortSignal,
  quiet = false,
): Promise<number> {
  const names = ['seen', 'deleted', 'flagged', 'draft'] as const
  const asked = names.filter(name => wishes[name] !== undefined)
  const mask = asked.reduce((bits, name) => bits | flag[name], 0)
  const flags = asked.reduce((bits, name) => (wishes[name] === true ? bits | flag[name] : bits), 0)
  const ham = wishes.flagged === true && !quiet
  const change = { mailbox, uids, how: 'set', flags, mask, keywords: [], ham } as const
  const { found } = await handle.run(storeFlags, change, signal)
  return found
}
