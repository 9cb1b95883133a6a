// The log of an account's logins and of what was changed about them (api-semantics 2.8).
//
// Newest first, and only what is not over its time. It must not tell passwords, tokens or codes: the log has none.

import { Type } from 'typebox'
import type { Actor, AuthLog } from '#actors/auth/auth-log.ts'
import { liveUser } from '#actors/auth/one-time-code.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { countLog, findLog, type LogEntry, listLog } from '#store/accounts/credentials.ts'
import { counted } from '#store/engine/counted.ts'
import { pagedCounted } from '../../cursor.ts'
import { endpoint } from '../../endpoint.ts'
import type { Caller } from '../../guard/access.ts'
import { id, ipAddress, moment, optional, pageReply, paging, text, userId } from '../../schema.ts'

export interface AuthLogDeps {
  readonly system: ActorSystem
  readonly authLog: AuthLog
}

const words = Type.Optional(Type.String())

const shape = {
  id: id({ description: 'Id of the entry' }),
  action: Type.String(),
  result: words,
  key: Type.String({ description: 'Events with the same key within some hours are one entry' }),
  sess: words,
  ip: words,
  created: moment,
  protocol: words,
  requiredScope: words,
  target: words,
  asp: words,
  aname: words,
  temporary: Type.Optional(Type.Boolean()),
  filter: words,
  credential: words,
  appId: words,
  require2fa: words,
  source: words,
  by: Type.Optional(
    Type.Object(
      { role: Type.String(), user: words, token: words, label: words, ip: words },
      {
        description:
          'Who made the call that changed something: role, account, id and label of the token, and from where where it was not the user. ' +
          'A user does not see that address',
      },
    ),
  ),
  last: moment,
  events: Type.Integer({ description: 'Events in this entry' }),
  expires: moment,
}

export function authLogEndpoints({ system, authLog }: AuthLogDeps) {
  const { read } = system
  const list = endpoint({
    method: 'GET',
    path: '/users/:user/authlog',
    tag: 'Authentication',
    summary: 'List what happened around the logins of a user, newest first',
    allow: 'authentication.read',
    params: { user: userId },
    query: {
      action: optional(text({ max: 100, lower: true, description: 'Only this action' })),
      filterip: optional(ipAddress({ description: 'Only from this address' })),
      ...paging,
    },
    reply: { action: words, ...pageReply, results: Type.Array(Type.Object(shape)) },
    faults: ['UserNotFound'],
    async run({ input, caller }) {
      const user = await liveUser(system, input.user)
      await authLog.flush()
      const page = { user: user.num, action: input.action ?? '', ip: input.filterip ?? '', at: now() }
      const { rows, ...cursors } = await pagedCounted(input, {
        key: ['string'],
        fetch: (boundary, direction, count) =>
          counted(
            read,
            picture => countLog(picture, page),
            picture => listLog(picture, page, boundary === null ? null : String(boundary[0]), direction, count),
          ),
        boundary: entry => [entry.id],
      })
      const { action } = input
      return { ...(action === undefined ? {} : { action }), ...cursors, results: rows.map(row => shown(row, caller)) }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/users/:user/authlog/:event',
    tag: 'Authentication',
    summary: 'Get one entry of the log',
    allow: 'authentication.read',
    params: { user: userId, event: id({ description: 'Id of the entry' }) },
    reply: shape,
    faults: ['UserNotFound', 'EventNotFound'],
    async run({ input, caller }) {
      const user = await liveUser(system, input.user)
      await authLog.flush()
      const entry = await findLog(read, user.num, input.event, now())
      if (entry === undefined) throw new Fault('EventNotFound')
      return shown(entry, caller)
    },
  })

  return [list, get]
}

/** From where an operator works is not for users. */
function shown(entry: LogEntry, { user }: Caller) {
  const { id: event, action, key, ip, events, more } = entry
  const { ip: _, ...by } = (more.by ?? { role: '' }) as Actor
  const at = (ms: number) => new Date(ms).toISOString()
  return {
    id: event,
    action,
    ...more,
    ...(more.by !== undefined && user !== null && { by }),
    ...(ip === '' ? {} : { ip }),
    key,
    created: at(entry.created),
    last: at(entry.last),
    events,
    expires: at(entry.expires),
  }
}
