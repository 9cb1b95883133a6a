// What the end of an attempt says of an address: it is gone, or it takes mail after all; and of a forward, that its target refuses.
// Operations for the unit that records the attempt.
//
// Only a final answer that speaks of the address itself counts (mail/report/answer.ts): no delay, no full box, no policy. Forwards are
// marked and go on.

import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { maskUrl } from '#lib/secret/url-secret.ts'
import { type AnswerKind, sortAnswer, statusIn } from '#mail/report/answer.ts'
import type { Reader } from '#store/engine/reader.ts'
import { type Operation, operation } from '#store/engine/write.ts'
import type { Settings } from '#store/folder/settings.ts'
import {
  type ForwardTrouble,
  findTrouble,
  troubleEnd,
  troubleNote,
  troubleSweep,
} from '#store/sending/forward-trouble.ts'
import type { Outbound, Target } from '#store/sending/outbound.ts'
import {
  findSuppression,
  type SuppressionSource,
  suppressionDelete,
  suppressionKey,
  suppressionNote,
  suppressionSweep,
} from '#store/sending/suppression.ts'
import { retryWaits } from './waits.ts'

export interface Said {
  readonly target: Target
  readonly state: 'delivered' | 'failed' | 'waiting'
  /** SMTP code; null where nobody answered. */
  readonly code: number | null
  readonly text: string
  /** Whether any host was asked; false where its domain has none, which is found out anew for nothing and may be a matter of a moment. */
  readonly asked: boolean
}

export interface OutcomeDeps {
  readonly read: Reader
  readonly settings: Pick<Settings, 'get'>
}

/** What an answer says of its recipient. */
export function kindOf({ state, code, text }: Pick<Said, 'state' | 'code' | 'text'>): {
  kind: AnswerKind
  status: string
} {
  const status = statusIn(text, code)
  return { kind: sortAnswer({ status, code, text, final: state === 'failed' }), status }
}

/** Of mail that an account sends. */
export async function addressOperations(
  deps: OutcomeDeps,
  message: Outbound,
  said: readonly Said[],
  at: number,
): Promise<Operation[]> {
  const { user, origin } = message
  if (user === null || origin === 'forward' || origin === 'report') return []
  const operations: Operation[] = []
  for (const one of said) {
    if (one.target.kind !== 'mail') continue
    const address = one.target.value
    if (one.state === 'delivered') {
      const known = await findSuppression(deps.read, user, address)
      if (known === undefined || known.source === 'manual') continue
      operations.push(operation(suppressionDelete, { user, address: known.address }))
    } else if (one.state === 'failed' && one.asked) {
      const { kind, status } = kindOf(one)
      if (kind !== 'unknown') continue
      operations.push(gone(deps, { user, address, status, response: one.text, source: 'answer' }, at))
    }
  }
  return operations
}

/** An address of nobody is left alone for a while. */
export function gone(
  { settings }: Pick<OutcomeDeps, 'settings'>,
  one: { user: string; address: string; status: string; response: string; source: SuppressionSource },
  at: number,
): Operation {
  const waits = retryWaits(settings.get('const:sender:suppress_times'))
  const address = suppressionKey(one.address)
  const response = one.response.slice(0, limits.outbound.responseLengthMax)
  return operation(suppressionNote, { ...one, address, response, at, waits, rowsMax: limits.suppression.accountMax })
}

export interface Trouble {
  readonly said: Said
  readonly owner: string
  readonly target: string
  /** As it was before. */
  readonly known: ForwardTrouble | undefined
  /** Its owner hears that it has been so for days. */
  readonly warned: boolean
}

/** Of a forward that goes on by itself: what its targets refused. */
export async function troublesOf(
  { read }: OutcomeDeps,
  message: Outbound,
  said: readonly Said[],
  at: number,
): Promise<Trouble[]> {
  const owner = forwarder(message)
  if (owner === undefined) return []
  const { failingMs, failuresMin, warnMs } = limits.forwardTrouble
  const troubles: Trouble[] = []
  for (const one of said) {
    if (one.state !== 'failed') continue
    const target = shownTarget(one.target)
    const known = await findTrouble(read, owner, target)
    const long = known !== undefined && at - known.since >= failingMs && known.failures + 1 >= failuresMin
    const warned = long && (known.warned === null || at - known.warned >= warnMs)
    troubles.push({ said: one, owner, target, known, warned })
  }
  return troubles
}

/** @param told targets of which their owner is sent what came back */
export async function troubleOperations(
  { read }: OutcomeDeps,
  message: Outbound,
  {
    said,
    troubles,
    told,
    at,
  }: { said: readonly Said[]; troubles: readonly Trouble[]; told: ReadonlySet<Target>; at: number },
): Promise<Operation[]> {
  const owner = forwarder(message)
  if (owner === undefined) return []
  const ended: Operation[] = []
  for (const { state, target } of said) {
    const name = shownTarget(target)
    if (state !== 'delivered' || (await findTrouble(read, owner, name)) === undefined) continue
    ended.push(operation(troubleEnd, { owner, target: name }))
  }
  const noted = troubles.map(({ said: one, target, warned }) => {
    const { status } = kindOf(one)
    const response = one.text.slice(0, limits.outbound.responseLengthMax)
    return operation(troubleNote, { owner, target, last: at, status, response, told: told.has(one.target), warned })
  })
  return [...ended, ...noted]
}

/** Whether the owner was sent something of this target a short while ago, and has the message anyway. */
export function isToldEnough(message: Outbound, { known }: Trouble, at: number): boolean {
  const told = known?.told ?? null
  return message.options.kept === true && told !== null && at - told < limits.forwardTrouble.toldMs
}

export function sweepReturned(at = now()): Operation[] {
  const { suppression, forwardTrouble } = limits
  return [
    operation(suppressionSweep, { before: at - suppression.rememberMs, count: suppression.sweepRowsMax }),
    operation(troubleSweep, { before: at - forwardTrouble.forgetMs, count: forwardTrouble.sweepRowsMax }),
  ]
}

/** Whose rows they are: the account, or the address that only forwards. */
function forwarder({ origin, user, options }: Outbound): string | undefined {
  if (origin !== 'forward' || options.standing !== true) return undefined
  return user ?? (options.forwardedFor === undefined ? undefined : suppressionKey(options.forwardedFor))
}

export function shownTarget({ kind, value }: Target): string {
  return kind === 'mail' ? value : maskUrl(value)
}
