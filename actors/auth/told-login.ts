// What is told of a login: the event for those who subscribe, and the line in the log about one that failed, with protocol, address, reason
// and whose name it was.
//
// A name that nobody has may be a password that was typed in its place, so of those only what has the form of an address is
// shown.

import { Fault } from '#lib/fault.ts'
import { cut, type Journal } from '#lib/journal/journal.ts'
import { isAddress } from '#mail/address/address.ts'
import type { Command } from '../kernel/actor.ts'
import type { EventName, Events } from '../kernel/events.ts'

const serverError = 500

interface FailedLogin {
  readonly username: string
  readonly protocol: string
  readonly scope: string
  readonly session?: string | undefined
  readonly ip?: string | undefined
}

/** @param find whose name it was */
export async function noteFailed(
  journal: Journal,
  { username, protocol, scope, session, ip = '' }: FailedLogin,
  error: unknown,
  find: () => Promise<{ readonly id: string } | undefined>,
): Promise<void> {
  const result = error instanceof Fault && error.status < serverError ? error.code : undefined
  if (result === undefined || !journal.on) return
  const user = await find().catch(() => undefined)
  const name = user !== undefined || isAddress(username) ? { name: cut(username) } : {}
  const about = { protocol: cut(protocol), ...name, ...(user !== undefined && { user: user.id }) }
  const more = session ? { session: cut(session) } : {}
  journal.note('login-failed', ip, { ...about, scope, result, ...more }, 'login failed')
}

export type Announcement = { [Name in EventName]: { name: Name; body: Events[Name] } }[
  | 'authentication.succeeded'
  | 'authentication.failed']

/** Writes down that somebody logged in, or tried to. */
export const announce: Command<unknown, Announcement, void> = {
  name: 'authentication.announce',
  background: true,
  run(turn, { name, body }) {
    turn.emit(name, body)
  },
}
