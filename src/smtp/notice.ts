// Parameters of MAIL and RCPT about reports (RFC 3461). Only those who log in may ask: a stranger's wish to hear of every
// delivery would make this service write to whom he names.

import { Fault } from '#lib/fault.ts'
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

function required<Value>(name: string, value: Value | undefined): Value {
  if (value === undefined) throw new Fault('InputValidationError', { text: `The value of ${name} is not valid` })
  return value
}
