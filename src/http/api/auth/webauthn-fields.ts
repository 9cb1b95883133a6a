// What calls around security keys have in common: those of a user, and those of the page's session.
//
// All bytes are lower-case hexadecimal digits.

import { Type } from 'typebox'
import { limits } from '#lib/limits.ts'
import { attachments, originOf as pageOf } from '#lib/webauthn/webauthn.ts'
import { hex, oneOf, optional, text, uri } from '../../schema.ts'

const { challengeLengthMax, rawIdLengthMax, answerLengthMax } = limits.webauthn
export const rpId = optional(
  text({
    max: limits.name.domainLengthMax,
    lower: true,
    pattern: /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/,
    description: 'Relying party: the host name of the page or a domain it lies in',
  }),
)
/** Of any length: one that nobody asked for is unknown, and no mistake in form. */
export const challenge = hex(2, challengeLengthMax, { description: 'The challenge that was asked for' })
export const rawId = hex(2, rawIdLengthMax, { description: 'Id of the credential, in hexadecimal digits' })
export const answer = (description: string) => hex(2, answerLengthMax, { description })

export const asking = {
  origin: uri({ description: 'A URI of the page' }, given => pageOf(given) !== undefined),
  authenticatorAttachment: oneOf(attachments, { default: 'cross-platform', description: 'Which kind of key' }),
  rpId,
} as const

/** What a browser brings for a login. */
export const assertionFields = {
  challenge,
  rawId,
  clientDataJSON: answer('As the browser gave it'),
  authenticatorData: answer('As the browser gave it'),
  signature: answer('As the browser gave it'),
  rpId,
} as const

export const browser = { additionalProperties: false, description: 'For the browser, bytes in hexadecimal digits' }

/** What a browser is told for a login. */
export const answering = Type.Object(
  {
    challenge: Type.String(),
    timeout: Type.Integer(),
    rpId: Type.String(),
    userVerification: Type.String(),
    allowCredentials: Type.Array(Type.Object({ rawId: Type.String(), type: Type.String() })),
  },
  browser,
)

export function askedOf(input: {
  origin: string
  authenticatorAttachment: (typeof attachments)[number]
  rpId?: string | undefined
}) {
  return { origin: input.origin, attachment: input.authenticatorAttachment, rpId: input.rpId }
}
