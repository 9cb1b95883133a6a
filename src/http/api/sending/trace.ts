// A message's whole way in one answer: how it came and what was found out about it, what was decided and where it lies, and for what
// leaves (or goes on) when it was queued, each attempt with its answer, what became of it and what was reported later.
//
// By id in the queue, by Message-ID or by the id that the reply named when it came. An operator sees all of it, a user what the own account got and sends. Mail that was refused at the
// door is told by the log alone.

import { Type } from 'typebox'
import { referenceHash } from '#actors/delivery/prepare.ts'
import { sleep } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { maskUrl } from '#lib/secret/url-secret.ts'
import type { Reader } from '#store/engine/reader.ts'
import { type Arrival, arrivalsAfter, arrivalsOf } from '#store/rules/arrivals.ts'
import { broughtBy, isTransaction } from '#store/rules/brought.ts'
import { type TraceEntry, tracesOf } from '#store/rules/trace.ts'
import { findByMessageId, findOutbound, findSent, type Outbound, queueNumber } from '#store/sending/outbound.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { moment, text, userId } from '../../schema.ts'
import { requireUser } from '../messages/mailboxes.ts'
import { spamShape } from '../messages/message-view.ts'
import type { OutboundDeps } from './outbound.ts'
import { queued, queuedShape } from './outbound-queue.ts'
import { stepShape, targetShape, wayOf } from './way.ts'

const arrivalShape = Type.Object({
  user: Type.String(),
  recipient: Type.String({ description: 'Envelope recipient' }),
  from: Type.String({ description: 'Envelope sender' }),
  at: moment,
  source: Type.String({ description: '`smtp`, `lmtp` or `submission`; empty where only the decision is known' }),
  origin: Type.Optional(Type.String({ description: 'Address of who brought it' })),
  helo: Type.Optional(Type.String({ description: 'Name that it gave' })),
  protocol: Type.Optional(Type.String()),
  verificationResults: Type.Optional(
    Type.Object({}, { additionalProperties: true, description: 'SPF, DKIM, ARC, DMARC and TLS' }),
  ),
  spam: Type.Optional(spamShape),
  decided: Type.Optional(
    Type.Object({
      filters: Type.Array(Type.String({ description: 'Name or id of a filter that matched' })),
      verdict: Type.Optional(Type.Object({ spam: Type.Boolean(), by: Type.String() })),
      stored: Type.Union([Type.String(), Type.Null()], { description: 'Path it was stored under; null: it was not' }),
      forwarded: Type.Array(Type.String({ description: 'Target' })),
      queueIds: Type.Array(Type.String({ description: 'What was queued of it' })),
    }),
  ),
  mailbox: Type.Optional(Type.String({ description: 'Id of the mailbox it lies in now' })),
  path: Type.Optional(Type.String()),
  message: Type.Optional(Type.Integer({ description: 'Number in that mailbox' })),
})

const reply = {
  arrivals: Type.Array(arrivalShape, { description: 'Copies that came to users here, the oldest first' }),
  results: Type.Array(Type.Object({ ...queuedShape, targets: Type.Array(targetShape), steps: Type.Array(stepShape) }), {
    description: 'What leaves or goes on',
  }),
}

const id = text({ max: 1000, trim: true, description: 'Id in the queue, Message-ID, or id that the reply named' })
const description =
  'By its id in the queue, by its Message-ID, with or without brackets, or by the id in the reply it was taken with (`Stored as ...`); of the ' +
  'latter two some of the newest messages are looked at. What was decided is known for some days.'

export function traceEndpoints({ system }: OutboundDeps): Endpoint[] {
  const { read } = system

  const all = endpoint({
    method: 'GET',
    path: '/outbound/trace/:id',
    tag: 'Outbound',
    summary: 'The whole way of a message: how it came, what was decided, each attempt to send it, what became of it',
    description,
    allow: 'queue.read',
    params: { id },
    reply,
    async run({ input }) {
      if (isTransaction(input.id)) return await inOneTransaction(read, input.id)
      const { traceAmongMax, tracedMax } = limits.outbound
      const one = await findOutbound(read, queueNumber(input.id))
      const wanted = one === undefined ? bracketed(input.id) : one.options.messageId
      const sent =
        one !== undefined ? [one] : await findByMessageId(read, bracketed(input.id), traceAmongMax, tracedMax)
      const found = wanted === undefined ? [] : await arrivalsEverywhere(read, wanted)
      return { arrivals: await arrivalsWith(read, found, wanted, null), results: await ways(read, sent) }
    },
  })

  const own = endpoint({
    method: 'GET',
    path: '/users/:user/outbound/trace/:id',
    tag: 'Outbound',
    summary: 'The whole way of a message of a user',
    description,
    allow: 'messages.read',
    params: { user: userId, id },
    reply,
    faults: ['UserNotFound'],
    async run({ input }) {
      const { num } = await requireUser(read, input.user)
      if (isTransaction(input.id)) return await inOneTransaction(read, input.id, { id: input.user, num })
      const one = await findOutbound(read, queueNumber(input.id))
      const mine = one?.user === input.user ? one : undefined
      const wanted = mine === undefined ? bracketed(input.id) : mine.options.messageId
      const sent = mine ?? (await findSent(read, input.user, bracketed(input.id), limits.bounce.amongMax))
      const named = { text: wanted ?? '', hash: referenceHash(wanted ?? '') }
      const found = wanted === undefined ? [] : await arrivalsOf(read, num, named, limits.outbound.traceThreadMax)
      return {
        arrivals: await arrivalsWith(read, found, wanted, num),
        results: await ways(read, sent === undefined ? [] : [sent]),
      }
    },
  })
  return [all, own]
}

/** What one transaction brought: to everybody, or to an account. */
async function inOneTransaction(read: Reader, given: string, user?: { readonly id: string; readonly num: number }) {
  const { sent, arrivals, messageId } = await broughtBy(read, given, user?.id ?? null)
  return {
    arrivals: await arrivalsWith(read, arrivals, messageId, user?.num ?? null),
    results: await ways(read, sent),
  }
}

function bracketed(given: string): string {
  return given.startsWith('<') ? given : `<${given}>`
}

async function ways(read: Reader, sent: readonly Outbound[]) {
  return Promise.all(sent.map(async message => ({ ...queued(message), ...(await wayOf(read, message)) })))
}

/** In the boxes of all accounts, some at a time, so that nobody waits for it. */
async function arrivalsEverywhere(read: Reader, messageId: string): Promise<Arrival[]> {
  const { traceAccountsMax: accounts, traceThreadMax: rowsMax, tracedCopiesMax } = limits.outbound
  const named = { text: messageId, hash: referenceHash(messageId) }
  const all: Arrival[] = []
  for (let after = 0; all.length < tracedCopiesMax; ) {
    const { last, found } = await arrivalsAfter(read, after, named, { accounts, rowsMax })
    all.push(...found)
    if (last === null) break
    after = last
    await sleep(0)
  }
  return all.slice(0, tracedCopiesMax)
}

/** Copies that somebody brought, with what was decided about each; and what was decided and not kept. */
async function arrivalsWith(
  read: Reader,
  found: readonly Arrival[],
  messageId: string | undefined,
  user: number | null,
) {
  const where = { reference: messageId === undefined ? 0 : referenceHash(messageId), user }
  const known = messageId === undefined ? [] : await tracesOf(read, where, limits.outbound.tracedCopiesMax)
  const decisions = known.filter(one => one.messageId === messageId)
  const taken = new Set<TraceEntry>()
  const stored = found
    .filter(({ meta }) => meta.rcpt !== undefined)
    .map(one => {
      const decision = decisions.find(({ user: whose, recipient }) => whose === one.user && recipient === one.meta.rcpt)
      if (decision !== undefined) taken.add(decision)
      return { ...shownArrival(one), ...(decision !== undefined && { decided: shownDecision(decision) }) }
    })
  const rest = decisions
    .filter(one => !taken.has(one))
    .map(one => ({
      ...{ user: one.user, recipient: one.recipient, from: one.from, at: new Date(one.at).toISOString(), source: '' },
      ...(one.spam !== undefined && { spam: { score: one.spam.score, parts: [...one.spam.parts] } }),
      decided: shownDecision(one),
    }))
  return [...stored, ...rest].sort((a, b) => a.at.localeCompare(b.at))
}

function shownArrival({ user, idate, mailbox, path, uid, meta }: Arrival) {
  const { from = '', rcpt = '', source, transport, verificationResults, spam } = meta
  return {
    ...{ user, recipient: rcpt, from, source, mailbox, path, message: uid },
    at: new Date(transport?.time ?? idate).toISOString(),
    ...(transport?.origin !== undefined && { origin: transport.origin }),
    ...(transport?.transhost !== undefined && { helo: transport.transhost }),
    ...(transport !== undefined && { protocol: transport.transtype }),
    ...(verificationResults !== undefined && { verificationResults }),
    ...(spam !== undefined && { spam: { score: spam.score, parts: [...spam.parts] } }),
  }
}

function shownDecision({ filters, verdict, stored, forward, autoreply }: TraceEntry) {
  const ids = [forward?.queueId, autoreply?.queueId].filter(one => typeof one === 'string')
  return {
    filters: filters.map(({ id: filter, name }) => name ?? filter),
    ...(verdict !== undefined && { verdict }),
    stored,
    forwarded: (forward?.targets ?? []).map(maskUrl),
    queueIds: ids,
  }
}
