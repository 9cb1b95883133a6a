// The changes of an account as they happen: server-sent events that can be resumed (api-semantics 10.11).
//
// Here a caller is let in and counted; what is told, and how nothing is lost, is in updates.ts of the folder above. A
// stream ends with its client, with the service, with its token, and when the account's sessions are ended.

import type { Bearer, Grants } from '#actors/auth/grant.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { Fault } from '#lib/fault.ts'
import { idNumber, isId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { tokenDigest } from '#lib/secret/token.ts'
import { eventStream } from '../../answer.ts'
import { endpoint } from '../../endpoint.ts'
import { hex, optional, userId } from '../../schema.ts'
import { UpdateStream } from '../../updates.ts'
import { requireUser } from './mailboxes.ts'

export interface UpdateDeps {
  readonly system: ActorSystem
  /** What streams may go on by. */
  readonly grants: Pick<Grants, 'hold'>
}

export function updateEndpoints({ system, grants }: UpdateDeps) {
  /** Streams that are open, by account. */
  const open = new Map<string, number>()

  const updates = endpoint({
    method: 'GET',
    path: '/users/:user/updates',
    tag: 'Users',
    summary: 'Follow the changes of a user as server-sent events',
    description:
      'EXISTS, FETCH, EXPUNGE, CREATE, RENAME, DELETE and COUNTERS; DROP, as a mailbox goes, and LOGOUT have no id. ' +
      '`Last-Event-ID` resumes. An event named `error` says that what was missed cannot be told one by one.',
    allow: 'users.read',
    params: { user: userId },
    query: { 'Last-Event-ID': optional(hex(24, 24, { description: 'Id of the last event that was seen' })) },
    headers: ['last-event-id'],
    replyType: 'text/event-stream',
    faults: ['UserNotFound', 'TooManySessions'],
    async run({ input, caller, request, signal }) {
      const user = await requireUser(system.read, input.user)
      const given = request.header('last-event-id').trim().toLowerCase() || input['Last-Event-ID'] || null
      const count = open.get(user.id) ?? 0
      if (count >= limits.updates.streamsMax) throw new Fault('TooManySessions')
      const known = given === null ? null : knownNumber(given)
      open.set(user.id, count + 1)
      const leave = once(() => {
        const left = (open.get(user.id) ?? 1) - 1
        if (left === 0) open.delete(user.id)
        else open.set(user.id, left)
      })
      const handle = system.handle(user.id)
      // Tokens of the configuration and of the socket in the data directory have no row that could end.
      const stored = caller.tokenKind === 'user' || caller.tokenKind === 'provisioned'
      const token = stored && request.token !== null ? tokenDigest(request.token) : null
      const hold = (onEnd: Bearer['ended']) => grants.hold({ kind: 'token', user: user.id, token }, { ended: onEnd })
      try {
        const stream = await UpdateStream.open({ handle, user: user.num, known, signal, hold, ended: leave })
        return eventStream(stream, { retryMs: limits.updates.retryMs })
      } catch (error) {
        leave()
        throw error
      }
    },
  })

  return [updates]
}

/** The change number an event id means; -1 for one that is none of ours. */
function knownNumber(text: string): number {
  if (!isId(text)) return -1
  return idNumber(text) || (/^0+$/.test(text) ? 0 : -1)
}

function once(task: () => void): () => void {
  let done = false
  return () => {
    if (!done) task()
    done = true
  }
}
