// Where an account is signed in: its access tokens and how many mail programs are connected, and ending them.
//
// A token is known here by its id, never by its text or hash. Ending all others keeps the token of the call and nothing
// else: connections of mail programs end with them, and come back only with a password that is still good.

import { Type } from 'typebox'
import type { AuthLog } from '#actors/auth/auth-log.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { logoutUser } from '#actors/user/account.ts'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { tokenDigest } from '#lib/secret/token.ts'
import { countTokensOf, tokensOf } from '#store/accounts/tokens.ts'
import { counted } from '#store/engine/counted.ts'
import { pagedCounted } from '../../cursor.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { id, moment, pageReply, paging, userId } from '../../schema.ts'
import { originOf } from '../auth/factor-fields.ts'
import { requireUser } from '../messages/mailboxes.ts'

export interface SessionDeps {
  readonly system: ActorSystem
  readonly authLog: AuthLog
  /** Ends a token, by its hash. */
  readonly revoke: (hash: string) => Promise<void>
  /** Sessions of mail programs that an account has now. */
  readonly connections: (user: string) => number | Promise<number>
}

const sessionId = id({ description: 'Id of the session' })

/** Tokens ended at once. */
const endedAtOnce = 100

export function sessionEndpoints({ system, authLog, revoke, connections }: SessionDeps): Endpoint[] {
  const { read } = system

  const list = endpoint({
    method: 'GET',
    path: '/users/:user/sessions',
    tag: 'Authentication',
    summary: 'List where a user is signed in, newest first',
    description: 'Access tokens that are still good, and how many mail programs are connected now.',
    allow: 'authentication.read',
    params: { user: userId },
    query: { ...paging },
    reply: {
      ...pageReply,
      connections: Type.Integer({ description: 'Sessions over IMAP, POP3 and the like' }),
      results: Type.Array(
        Type.Object({
          id: sessionId,
          label: Type.String({
            description:
              'Name it was given on the command line, or the browser of a login on the page; empty for others',
          }),
          created: moment,
          expires: Type.Union([moment, Type.Null()], {
            description: 'Unless it is used before; null: by itself never',
          }),
          current: Type.Boolean({ description: 'It is the one of this call' }),
        }),
      ),
    },
    faults: ['UserNotFound'],
    async run({ input, request }) {
      const user = await requireUser(read, input.user)
      const own = request.token === null ? null : tokenDigest(request.token)
      const page = { user: user.id, authVersion: user.authVersion, at: now() }
      const { rows, ...cursors } = await pagedCounted(input, {
        key: ['number', 'string'],
        fetch: (boundary, direction, count) =>
          counted(
            read,
            picture => countTokensOf(picture, page),
            picture => {
              const edge = boundary === null ? null : ([Number(boundary[0]), String(boundary[1])] as const)
              return tokensOf(picture, page, edge, direction, count)
            },
          ),
        boundary: row => [row.created, row.id],
      })
      const results = rows.map(({ id: session, label, created, expires, hash }) => ({
        id: session,
        label,
        created: iso(created),
        expires: expires === null ? null : iso(expires),
        current: hash === own,
      }))
      return { ...cursors, connections: await connections(user.id), results }
    },
  })

  const end = endpoint({
    method: 'DELETE',
    path: '/users/:user/sessions/:session',
    tag: 'Authentication',
    summary: 'End one session of a user',
    allow: 'users.update',
    params: { user: userId, session: sessionId },
    faults: ['UserNotFound', 'SessionNotFound'],
    async run({ input, caller, request }) {
      const user = await requireUser(read, input.user)
      const page = { user: user.id, authVersion: user.authVersion, at: now(), id: input.session }
      const [row] = await tokensOf(read, page, null, 'forward', 1)
      if (row === undefined) throw new Fault('SessionNotFound')
      await revoke(row.hash)
      await authLog.add(user.num, {
        action: 'session ended',
        result: 'success',
        ...originOf({ input, caller, request }),
      })
      return {}
    },
  })

  const endOthers = endpoint({
    method: 'DELETE',
    path: '/users/:user/sessions',
    tag: 'Authentication',
    summary: 'End all sessions of a user but the one of this call',
    description:
      'Mail programs that are connected are sent away, too; they come back with a password that is still good.',
    allow: 'users.update',
    params: { user: userId },
    reply: { ended: Type.Integer({ description: 'Access tokens that were ended' }) },
    faults: ['UserNotFound'],
    async run({ input, request, signal, caller }) {
      const user = await requireUser(read, input.user)
      const own = request.token === null ? null : tokenDigest(request.token)
      const page = { user: user.id, authVersion: user.authVersion, at: now() }
      const isOwner = caller.user === user.id && caller.role !== 'impersonated'
      let ended = 0
      for (;;) {
        const rows = await tokensOf(read, { ...page, but: own }, null, 'forward', endedAtOnce)
        for (const { hash } of rows) await revoke(hash)
        ended += rows.length
        if (rows.length < endedAtOnce) break
      }
      await system
        .handle(user.id)
        .run(logoutUser, { reason: `Ended by ${isOwner ? 'the owner of the account' : 'an operator'}` }, signal)
      await authLog.add(user.num, {
        action: 'sessions ended',
        result: 'success',
        ...originOf({ input, caller, request }),
      })
      return { ended }
    },
  })

  return [list, end, endOthers]
}

function iso(time: number): string {
  return new Date(time).toISOString()
}
