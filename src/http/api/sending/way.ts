// How a message that leaves is shown: its targets as they are now, what was reported of each afterwards, and all that happened, step by
// step.
//
// Reads only, bounded. Passwords in URLs are masked.

import { Type } from 'typebox'
import { limits } from '#lib/limits.ts'
import { maskUrl } from '#lib/secret/url-secret.ts'
import type { Reader } from '#store/engine/reader.ts'
import { listAttempts } from '#store/sending/attempts.ts'
import { type BounceRow, listBounces } from '#store/sending/bounce.ts'
import { listTargets, type Outbound, stateName, stateNames, type Target } from '#store/sending/outbound.ts'
import { closedFrom } from '#store/sending/outbound-due.ts'
import { moment, oneOf } from '../../schema.ts'

const bounceShape = Type.Object({
  at: moment,
  kind: oneOf(['unknown', 'full', 'policy', 'delayed', 'other'], {
    description: 'The address does not exist; its box is full; the mail is unwanted; it takes longer; something else',
  }),
  address: Type.String({ description: 'As the report names it' }),
  final: Type.Boolean({ description: 'Whether it was given up' }),
  proven: Type.Boolean({ description: 'Whether the report comes from where the message went' }),
  status: Type.Optional(Type.String({ description: 'As in RFC 3463' })),
  response: Type.Optional(Type.String({ description: 'What was said' })),
  reporter: Type.Optional(Type.String({ description: 'Host that reported' })),
})

export const targetShape = Type.Object({
  seq: Type.String({ description: 'Number of the target within the message' }),
  type: oneOf(['mail', 'relay', 'http']),
  value: Type.String(),
  state: oneOf(stateNames),
  attempts: Type.Integer(),
  lastAttempt: Type.Union([moment, Type.Literal(false)]),
  nextAttempt: Type.Union([moment, Type.Literal(false)]),
  failure: Type.Optional(Type.String({ description: 'Why the last attempt failed: one of a few words' })),
  status: Type.Optional(Type.Integer({ description: 'Status of the last answer' })),
  response: Type.Optional(Type.String({ description: 'What the server said' })),
  bounces: Type.Optional(Type.Array(bounceShape, { description: 'What was reported after somebody had taken it' })),
})

export const stepShape = Type.Object({
  at: moment,
  step: Type.String({
    description:
      '`queued`, `delivered`, `failed`, `retry` (to be tried again), `bounced` (reported later), `delayed` (the same of a delay) or `done`',
  }),
  target: Type.String(),
  host: Type.Optional(Type.String()),
  security: Type.Optional(
    Type.String({
      description: 'By what the host was proven (`dane`, `mta-sts`, `trusted`), or `encrypted`, or `plain`',
    }),
  ),
  status: Type.Optional(Type.Integer()),
  failure: Type.Optional(Type.String()),
  response: Type.String({ description: 'What the server said' }),
})

/** A moment; false where there is none, as for what is held or whose account is paused or its domain closed. */
export function isoOr(at: number | null): string | false {
  return at === null || at >= closedFrom ? false : new Date(at).toISOString()
}

const seqDigits = 3

/** The number of a target as clients know it: `001`. */
export function seqText(seq: number): string {
  return seq.toString(16).padStart(seqDigits, '0')
}

function shownTarget(target: Target, bounces: readonly BounceRow[]) {
  const { seq, kind, value, state, attempts, tried, due, failure, status, response } = target
  const reported = bounces.filter(one => one.seq === seq).map(shownBounce)
  return {
    seq: seqText(seq),
    type: kind,
    value: kind === 'mail' ? value : maskUrl(value),
    state: stateName(target),
    attempts,
    lastAttempt: isoOr(tried),
    nextAttempt: state < 2 ? isoOr(due) : (false as const),
    ...(failure !== null && { failure }),
    ...(status !== null && { status }),
    ...(response !== null && { response }),
    ...(reported.length > 0 && { bounces: reported }),
  }
}

function shownBounce({ at, kind, address, final, proven, status, response, reporter }: BounceRow) {
  return {
    ...{ at: new Date(at).toISOString(), kind, address, final, proven },
    ...(status !== '' && { status }),
    ...(response !== '' && { response }),
    ...(reporter !== '' && { reporter }),
  }
}

/** Targets of a message in order. */
export async function shownTargets(read: Reader, num: number) {
  const bounces = await listBounces(read, num)
  return (await listTargets(read, num)).map(target => shownTarget(target, bounces))
}

/** Targets as they are now, and what happened in order. */
export async function wayOf(read: Reader, { num, created, done }: Outbound) {
  const targets = await listTargets(read, num)
  const bounces = await listBounces(read, num)
  const shown = targets.map(target => shownTarget(target, bounces))
  const named = new Map(targets.map(({ seq }, at) => [seq, shown[at]?.value ?? '']))
  const attempts = (await listAttempts(read, num, limits.outbound.tracedStepsMax)).map(
    ({ at, seq, outcome, host, security, status, failure, response }) => ({
      ...{ at, step: outcome as string, target: named.get(seq) ?? '', response },
      ...(host !== null && { host }),
      ...(security !== null && { security }),
      ...(status !== null && { status }),
      ...(failure !== null && { failure }),
    }),
  )
  const reported = bounces.map(({ at, seq, address, final, proven, status, response, reporter }) => ({
    ...{ at, step: final ? 'bounced' : 'delayed', target: named.get(seq) ?? address },
    ...(reporter !== '' && { host: reporter }),
    response: `${proven ? '' : '(unproven) '}${response.startsWith(status) ? '' : `${status} `}${response}`.trim(),
  }))
  const ended = done === null ? [] : [{ at: done, step: 'done', target: '', response: '' }]
  const begun = { at: created, step: 'queued', target: '', response: '' }
  const steps = [begun, ...attempts, ...ended, ...reported].map(one => ({ ...one, at: new Date(one.at).toISOString() }))
  return { targets: shown, steps }
}
