// Keeps the documentation true: in strict mode every answer is compared with its endpoint's schema.
//
// Tests run the service in strict mode, where an answer with a missing, wrong or undocumented field, and a fault that
// the endpoint does not declare, become a 500. In service nothing here runs.

import Type from 'typebox'
import type { FaultCode } from '#lib/fault.ts'
import { schemaCompiler } from '#lib/process/lazy.ts'
import type { Binary } from '../answer.ts'
import { anyType, type Endpoint } from '../endpoint.ts'

/** Faults that any endpoint may answer with. */
export const commonFaults: readonly FaultCode[] = [
  'InputValidationError',
  'InvalidToken',
  'ForeignPage',
  'MissingPrivileges',
  'Overloaded',
  'TimedOut',
  'Stopping',
  'StorageUnavailable',
  'InternalError',
]

/** Faults that any endpoint with a body may answer with. */
export const bodyFaults: readonly FaultCode[] = [
  'InvalidContent',
  'UnsupportedMediaType',
  'BodyTooLarge',
  'BodyTimedOut',
]

export interface ReplyCheck {
  /** Throws where `body` is not what the endpoint says. */
  (body: Record<string, unknown>): void
  /** What the endpoint may refuse with. */
  readonly faults: ReadonlySet<FaultCode>
  /** Throws where bytes are not of the type that the endpoint says. */
  bytes(answer: Binary): void
}

/** Made ready by the first answer: a service has hundreds of endpoints, and most tests call a dozen. */
export function replyCheck(endpoint: Endpoint): ReplyCheck {
  const compiled = () => schemaCompiler().Compile(Type.Object({ ...endpoint.reply }, { additionalProperties: false }))
  let validator: ReturnType<typeof compiled> | undefined
  const check = (body: Record<string, unknown>): void => {
    validator ??= compiled()
    const sent: unknown = JSON.parse(JSON.stringify(body))
    if (validator.Check(sent)) return
    const errors = validator.Errors(sent).map(error => `${error.instancePath} ${error.message}`)
    throw new Error(`The answer of ${endpoint.method} ${endpoint.path} is not as documented: ${errors.join('; ')}`)
  }
  const bytes = ({ status, headers }: Binary): void => {
    const type = String(headers['content-type'] ?? 'application/octet-stream').split(';', 1)[0]
    if (status !== 200 || [type, anyType].includes(endpoint.replyType)) return
    throw new Error(`The answer of ${endpoint.method} ${endpoint.path} is ${type}, not ${endpoint.replyType}`)
  }
  return Object.assign(check, { bytes, faults: new Set([...commonFaults, ...bodyFaults, ...endpoint.faults]) })
}
