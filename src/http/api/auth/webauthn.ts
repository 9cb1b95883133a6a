// Security keys over HTTP (api-semantics 3.3). All bytes are lower-case hexadecimal digits.
//
// A challenge belongs to one account and one use. Origins are checked against the page that asked, and what is asserted
// is verified by lib/webauthn/webauthn.ts alone.

import { Type } from 'typebox'
import type { AuthLog } from '#actors/auth/auth-log.ts'
import { liveUser } from '#actors/auth/one-time-code.ts'
import type { SecurityKeys } from '#actors/auth/security-key.ts'
import { removeCredential } from '#actors/user/credential.ts'
import { limits } from '#lib/limits.ts'
import { listCredentials } from '#store/accounts/credentials.ts'
import { endpoint } from '../../endpoint.ts'
import { bool, hex, id, optional, text, userId } from '../../schema.ts'
import { existingPassword, type FreshDeps, freshFaults, originOf, ownToken, requireFresh } from './factor-fields.ts'
import {
  answer,
  answering,
  askedOf,
  asking,
  assertionFields,
  browser,
  challenge,
  rawId,
  rpId,
} from './webauthn-fields.ts'

export interface WebAuthnDeps extends FreshDeps {
  readonly securityKeys: SecurityKeys
  readonly authLog: AuthLog
}

const { answerLengthMax } = limits.webauthn
const credentialId = id({ description: 'Id of the security key' })
const shape = {
  id: credentialId,
  rawId: Type.String(),
  description: Type.String(),
  authenticatorAttachment: Type.String(),
}
const texts = Type.Array(Type.String())
const registering = Type.Object(
  {
    rp: Type.Object({ name: Type.String(), id: Type.String() }),
    user: Type.Object({ id: userId, name: Type.String(), displayName: Type.String() }),
    challenge: Type.String(),
    pubKeyCredParams: Type.Array(Type.Object({ type: Type.String(), alg: Type.Integer() })),
    timeout: Type.Integer(),
    attestation: Type.String(),
    authenticatorSelection: Type.Object({ authenticatorAttachment: Type.String(), userVerification: Type.String() }),
    excludeCredentials: Type.Optional(
      Type.Array(Type.Object({ rawId: Type.String(), type: Type.String(), transports: texts })),
    ),
  },
  browser,
)
export function webAuthnEndpoints(deps: WebAuthnDeps) {
  const { system, securityKeys, authLog } = deps

  const registrationChallenge = endpoint({
    method: 'POST',
    path: '/users/:user/2fa/webauthn/registration-challenge',
    tag: 'TwoFactorAuth',
    summary: 'Begin to register a security key',
    allow: 'credentials.update',
    params: { user: userId },
    body: { ...existingPassword, ...asking, description: text({ min: 1, max: 1024, description: 'Name of the key' }) },
    reply: { registrationOptions: registering },
    faults: ['UserNotFound', ...freshFaults],
    async run({ input, signal, caller }) {
      await requireFresh(deps, { caller, input, signal })
      const registrationOptions = await securityKeys.askToRegister(input.user, input.description, askedOf(input))
      return { registrationOptions }
    },
  })

  const attestation = endpoint({
    method: 'POST',
    path: '/users/:user/2fa/webauthn/registration-attestation',
    tag: 'TwoFactorAuth',
    summary: 'Register a security key',
    description: 'What was registered stands in the answer itself and, for older clients, in `response`.',
    allow: 'credentials.update',
    params: { user: userId },
    body: {
      challenge,
      rawId,
      clientDataJSON: answer('As the browser gave it'),
      attestationObject: answer('As the browser gave it'),
      rpId,
    },
    bodyBytesMax: 3 * answerLengthMax,
    reply: { ...shape, response: Type.Object({ success: Type.Boolean(), ...shape }) },
    faults: ['UserNotFound', 'ChallengeNotFound', 'InvalidAttestation', 'TooMany'],
    async run({ input, signal, caller, request }) {
      const keep = ownToken(caller, request.token, input.user)
      const { challenge: asked, rawId: raw, clientDataJSON, attestationObject } = input
      const brought = { challenge: asked, rawId: raw, clientDataJSON, attestationObject, rpId: input.rpId }
      const row = await securityKeys.register(input.user, brought, keep, originOf({ input, caller, request }), signal)
      const registered = shown(row)
      return { ...registered, response: { success: true, ...registered } }
    },
  })

  const list = endpoint({
    method: 'GET',
    path: '/users/:user/2fa/webauthn/credentials',
    tag: 'TwoFactorAuth',
    summary: 'List the security keys of a user',
    allow: 'users.read',
    params: { user: userId },
    reply: { credentials: Type.Array(Type.Object(shape)) },
    faults: ['UserNotFound'],
    async run({ input }) {
      const user = await liveUser(system, input.user)
      return { credentials: (await listCredentials(system.read, user.num)).map(shown) }
    },
  })

  const remove = endpoint({
    method: 'DELETE',
    path: '/users/:user/2fa/webauthn/credentials/:credential',
    tag: 'TwoFactorAuth',
    summary: 'Take a security key away',
    allow: 'credentials.update',
    params: { user: userId, credential: credentialId },
    body: existingPassword,
    reply: { deleted: Type.Boolean() },
    faults: ['UserNotFound', 'CredentialsNotFound', ...freshFaults],
    async run({ input, signal, caller, request }) {
      const user = await liveUser(system, input.user)
      await requireFresh(deps, { caller, input, signal })
      await system.handle(user.id).run(removeCredential, { id: input.credential }, signal)
      const event = { action: 'remove webauthn', result: 'success', credential: input.credential } as const
      await authLog.add(user.num, { ...event, ...originOf({ input, caller, request }) })
      return { deleted: true }
    },
  })

  const authenticationChallenge = endpoint({
    method: 'POST',
    path: '/users/:user/2fa/webauthn/authentication-challenge',
    tag: 'TwoFactorAuth',
    summary: 'Begin to answer with a security key',
    allow: 'authentication.create',
    params: { user: userId },
    body: { ...asking, twoFactorNonce: optional(hex(40, 40, { description: 'The nonce of a login' })) },
    reply: { authenticationOptions: answering },
    faults: ['UserNotFound', 'WebAuthnDisabled', 'Invalid2faNonce'],
    async run({ input }) {
      const asked = askedOf(input)
      return { authenticationOptions: await securityKeys.askToLogin(input.user, input.twoFactorNonce, asked) }
    },
  })

  const assertion = endpoint({
    method: 'POST',
    path: '/users/:user/2fa/webauthn/authentication-assertion',
    tag: 'TwoFactorAuth',
    summary: 'Answer with a security key, and finish the login it is for',
    allow: 'authentication.create',
    filterInput: true,
    params: { user: userId },
    body: {
      ...assertionFields,
      twoFactorNonce: optional(hex(40, 40, { description: 'The nonce of a login' })),
      token: bool({ default: false, description: 'Whether an access token is wanted where there is no nonce' }),
    },
    bodyBytesMax: 4 * answerLengthMax,
    reply: {
      response: Type.Object({ authenticated: Type.Boolean(), credential: credentialId }),
      token: Type.Optional(Type.String()),
    },
    faults: [
      'UserNotFound',
      'RateLimitedError',
      'Invalid2faNonce',
      'ChallengeNotFound',
      'CredentialsNotFound',
      'InvalidAssertion',
    ],
    async run({ input, signal, caller, request }) {
      const { user, twoFactorNonce: nonce, token: wanted, clientDataJSON, authenticatorData, signature } = input
      const data = { clientDataJSON, authenticatorData, signature, rpId: input.rpId }
      const brought = { challenge: input.challenge, rawId: input.rawId, ...data, nonce, token: wanted === true }
      const { credential, token } = await securityKeys.login(
        user,
        brought,
        originOf({ input, caller, request }),
        signal,
      )
      return { response: { authenticated: true, credential }, ...(token === undefined ? {} : { token }) }
    },
  })

  return [registrationChallenge, attestation, list, remove, authenticationChallenge, assertion]
}

function shown(row: { id: string; rawId: string; description: string; attachment: string }) {
  return { id: row.id, rawId: row.rawId, description: row.description, authenticatorAttachment: row.attachment }
}
