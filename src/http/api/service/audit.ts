// Audits over HTTP: begin one, list them, see how far it is, take what it holds (api-semantics 10.4).
//
// Only operators get here. What an audit holds is copied apart from the account, so that the account can neither see
// nor end it; it is given out as one mbox that is streamed.

import { Type } from 'typebox'
import { auditMbox, createAudit } from '#actors/admin/audit.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { now } from '#lib/clock.ts'
import { Fault, invalid } from '#lib/fault.ts'
import { findUser } from '#store/accounts/users.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import { counted } from '#store/engine/counted.ts'
import { type Audit, countAudits, findAudit, listAudits } from '#store/mailboxes/audits.ts'
import { binary } from '../../answer.ts'
import { pagedCounted } from '../../cursor.ts'
import { endpoint } from '../../endpoint.ts'
import { date, id, metaData, moment, optional, orFalse, pageReply, paging, text } from '../../schema.ts'

export interface AuditDeps {
  readonly system: ActorSystem
  readonly bodies: Bodies
  /** Somebody is to look for due tasks. */
  readonly tasks: { kick(): void }
}

export function auditEndpoints({ system, bodies, tasks }: AuditDeps) {
  const { read } = system
  const auditId = id({ description: 'Id of the audit' })
  const maybe = Type.Union([moment, Type.Null()])
  const shape = {
    id: auditId,
    user: Type.String(),
    username: Type.Optional(Type.String({ description: 'Of the account, as long as it is here' })),
    start: maybe,
    end: maybe,
    expires: moment,
    notes: Type.String(),
    meta: Type.Record(Type.String(), Type.Unknown()),
    deleted: Type.Boolean(),
    deletedTime: Type.Optional(moment),
    audited: Type.Integer(),
    lastAuditedMessage: Type.Optional(moment),
    import: Type.Object({ status: Type.String(), failed: Type.Integer(), copied: Type.Integer() }),
  }

  const create = endpoint({
    method: 'POST',
    path: '/audit',
    tag: 'Audit',
    summary: 'Begin an audit: copy the mail of an account, what is there and what comes',
    allow: 'audit.create',
    body: {
      user: id({ description: 'Id of the account' }),
      start: optional(orFalse(date(), { description: 'Nothing received before' })),
      end: optional(orFalse(date(), { description: 'Nothing received after' })),
      expires: date({ description: 'When the copies are deleted' }),
      notes: optional(text({ max: 1024, empty: true })),
      meta: optional(metaData()),
    },
    reply: { id: auditId },
    async run({ input, signal }) {
      if (input.expires <= now()) throw invalid('expires', 'must be in the future')
      const { user, expires, notes = '', meta = {} } = input
      const form = { user, expires, notes, meta, starts: input.start || null, ends: input.end || null }
      const created = await system.directory.run(createAudit, form, signal)
      tasks.kick()
      return created
    },
  })

  const list = endpoint({
    method: 'GET',
    path: '/audit',
    tag: 'Audit',
    summary: 'List audits, the newest first',
    allow: 'audit.read',
    query: { user: optional(id({ description: 'Only those of this account' })), ...paging },
    reply: { ...pageReply, results: Type.Array(Type.Object(shape)) },
    async run({ input }) {
      const { user = null } = input
      const { rows, ...cursors } = await pagedCounted(input, {
        key: ['string'],
        fetch: (boundary, direction, count) =>
          counted(
            read,
            picture => countAudits(picture, user),
            picture => listAudits(picture, user, boundary === null ? null : String(boundary[0]), direction, count),
          ),
        boundary: ({ id: audit }) => [audit],
      })
      return { ...cursors, results: await Promise.all(rows.map(shown)) }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/audit/:audit',
    tag: 'Audit',
    summary: 'Get an audit',
    allow: 'audit.read',
    params: { audit: auditId },
    reply: shape,
    faults: ['AuditNotFoundError'],
    async run({ input }) {
      const audit = await findAudit(read, input.audit)
      if (audit === undefined) throw new Fault('AuditNotFoundError')
      return shown(audit)
    },
  })

  const mbox = endpoint({
    method: 'GET',
    path: '/audit/:audit/export.mbox',
    tag: 'Audit',
    summary: 'Get all messages of an audit as one mbox file (mboxrd), oldest first',
    allow: 'audit.read',
    params: { audit: auditId },
    replyType: 'application/octet-stream',
    faults: ['AuditNotFoundError'],
    async run({ input }) {
      if ((await findAudit(read, input.audit)) === undefined) throw new Fault('AuditNotFoundError')
      const headers = { 'content-disposition': 'attachment; filename=export.mbox' }
      return binary({ headers, body: auditMbox(read, bodies, input.audit) })
    },
  })

  async function shown(audit: Audit) {
    const account = await findUser(read, audit.user)
    return { ...plain(audit), ...(account !== undefined && { username: account.username }) }
  }

  return [create, list, get, mbox]
}

function plain(audit: Audit) {
  const { starts, ends, deleted, last, state: status, failed, copied } = audit
  return {
    id: audit.id,
    user: audit.user,
    start: starts === null ? null : iso(starts),
    end: ends === null ? null : iso(ends),
    expires: iso(audit.expires),
    notes: audit.notes,
    meta: audit.meta,
    deleted: deleted !== null,
    ...(deleted !== null && { deletedTime: iso(deleted) }),
    audited: audit.audited,
    ...(last !== null && { lastAuditedMessage: iso(last) }),
    import: { status, failed, copied },
  }
}

function iso(time: number): string {
  return new Date(time).toISOString()
}
