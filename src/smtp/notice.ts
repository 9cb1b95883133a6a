// Parameters of MAIL and RCPT about reports (RFC 3461), about when a message is sent (RFC 4865), and about its protection on
// all of its way (REQUIRETLS, RFC 8689).
//
// The last is anybody's wish who speaks over TLS. Only those who log in may ask for the others: a stranger's wish to hear of every delivery would make this service write to whom he
// names, and mail that waits for years would be his store.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import {
  type MessageNotice,
  type RecipientNotice,
  readEnvelopeId,
  readNotify,
  readOriginal,
  readReturns,
} from '#mail/made/notice.ts'
import type { Setting } from './setting.ts'

/** Whether a listener takes such wishes. */
export function takesNotices({ authenticate }: Setting): boolean {
  return authenticate !== undefined
}

/** RET or ENVID; undefined for any other parameter. @throws Fault InputValidationError */
export function messageNotice(name: string, value: string): MessageNotice | undefined {
  if (name === 'RET') return { returns: required(name, readReturns(value)) }
  if (name === 'ENVID') return { envelopeId: required(name, readEnvelopeId(value)) }
  return undefined
}

/** REQUIRETLS; undefined for any other parameter. @throws Fault TlsNeeded, InputValidationError */
export function tlsNotice(name: string, value: string, secure: boolean): MessageNotice | undefined {
  if (name !== 'REQUIRETLS') return undefined
  if (!secure) throw new Fault('TlsNeeded')
  if (value !== '') throw new Fault('InputValidationError', { text: 'REQUIRETLS takes no value' })
  return { requireTls: true }
}

/** NOTIFY and ORCPT. @throws Fault InputValidationError, ParameterUnknown */
export function recipientNotice(setting: Setting, parameters: ReadonlyMap<string, string>): RecipientNotice {
  let notice: RecipientNotice = {}
  for (const [name, value] of parameters) {
    if (!takesNotices(setting)) throw new Fault('ParameterUnknown')
    if (name === 'NOTIFY') notice = { ...notice, notify: required(name, readNotify(value)) }
    else if (name === 'ORCPT') notice = { ...notice, original: required(name, readOriginal(value)) }
    else throw new Fault('ParameterUnknown')
  }
  return notice
}

/** As EHLO has it (RFC 4865 4): seconds, and the latest moment. */
export function releaseLine(at: number): string {
  const { holdMaxMs } = limits.smtp
  return `FUTURERELEASE ${holdMaxMs / limits.time.second} ${new Date(at + holdMaxMs).toISOString().replace(/\.\d+Z$/, 'Z')}`
}

/** HOLDFOR or HOLDUNTIL: when the message is to be sent; undefined for any other parameter. @throws Fault InputValidationError */
export function releaseTime(name: string, value: string, at: number): number | undefined {
  if (name !== 'HOLDFOR' && name !== 'HOLDUNTIL') return undefined
  const moment =
    name === 'HOLDUNTIL'
      ? dateTime(value)
      : /^[1-9]\d{0,8}$/.test(value)
        ? at + Number(value) * limits.time.second
        : Number.NaN
  if (Number.isNaN(moment) || moment > at + limits.smtp.holdMaxMs) {
    throw new Fault('InputValidationError', { text: `The value of ${name} is not valid, or too far away` })
  }
  return moment
}

/** RFC 4865 4.1: one of them at most. @throws Fault InputValidationError */
export function onlyRelease(known: number | undefined, found: number): number {
  if (known === undefined) return found
  throw new Fault('InputValidationError', { text: 'HOLDFOR and HOLDUNTIL exclude each other' })
}

const dateTimePattern = /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

/** A moment by RFC 3339; NaN where there is none: V8 has the 30th of February be a day in March. */
function dateTime(value: string): number {
  const day = dateTimePattern.exec(value)?.[1]
  const start = Date.parse(`${day}T00:00:00Z`)
  return Number.isNaN(start) || !new Date(start).toISOString().startsWith(`${day}T`) ? Number.NaN : Date.parse(value)
}

function required<Value>(name: string, value: Value | undefined): Value {
  if (value === undefined) throw new Fault('InputValidationError', { text: `The value of ${name} is not valid` })
  return value
}
