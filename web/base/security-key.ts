// Security keys and passkeys between the browser and the service, which writes bytes as hexadecimal digits where the browser
// library has base64url.
//
// The library is loaded when the first key is asked for. Somebody who cancels gets null, not an error.

import { call } from './client.ts'
import type { Session } from './session.ts'

type Attachment = 'platform' | 'cross-platform'
type Registering = Parameters<typeof import('@simplewebauthn/browser').startRegistration>[0]['optionsJSON']
type Answering = Parameters<typeof import('@simplewebauthn/browser').startAuthentication>[0]['optionsJSON']

const library = () => import('@simplewebauthn/browser')

/** The page and the host that keys are bound to. */
const here = () => ({ origin: location.origin, rpId: location.hostname })

/** Shows a key to finish a login. */
export async function askKey(
  { user, nonce }: { user: string; nonce: string },
  keep: boolean,
  authenticatorAttachment: Attachment,
): Promise<Session | null> {
  const asked = { user, nonce, ...here(), authenticatorAttachment }
  const { authenticationOptions: options } = await call('POST /session/webauthn-challenge', { body: asked })
  const allowCredentials = options.allowCredentials.map(({ rawId }) => ({
    id: base64(rawId),
    type: 'public-key' as const,
  }))
  const optionsJSON = { ...options, challenge: base64(options.challenge), allowCredentials } as Answering
  const { startAuthentication } = await library()
  const shown = await unlessCancelled(startAuthentication({ optionsJSON }))
  if (shown === null) return null
  const { clientDataJSON, authenticatorData, signature } = shown.response
  const answer = {
    clientDataJSON: hex(clientDataJSON),
    authenticatorData: hex(authenticatorData),
    signature: hex(signature),
  }
  const body = {
    user,
    nonce,
    keep,
    rpId: location.hostname,
    challenge: options.challenge,
    rawId: hex(shown.rawId),
    ...answer,
  }
  return call('POST /session/webauthn', { body })
}

/** Signs in by a passkey alone: the browser offers those it has for this page. */
export async function askPasskey(keep: boolean): Promise<Session | null> {
  const { authenticationOptions: options } = await call('POST /session/passkey-challenge')
  const optionsJSON = { ...options, challenge: base64(options.challenge), allowCredentials: [] } as Answering
  const { startAuthentication } = await library()
  const shown = await unlessCancelled(startAuthentication({ optionsJSON }))
  if (shown === null) return null
  const { clientDataJSON, authenticatorData, signature, userHandle = '' } = shown.response
  const answer = {
    clientDataJSON: hex(clientDataJSON),
    authenticatorData: hex(authenticatorData),
    signature: hex(signature),
    userHandle: hex(userHandle),
  }
  const body = { keep, challenge: options.challenge, rawId: hex(shown.rawId), ...answer }
  return call('POST /session/passkey', { body })
}

/** Registers a key; false where somebody cancelled. */
export async function registerKey(
  user: string,
  form: { description: string; authenticatorAttachment: Attachment; existingPassword?: string },
): Promise<boolean> {
  const asked = { ...form, ...here() }
  const params = { user }
  const { registrationOptions: options } = await call('POST /users/:user/2fa/webauthn/registration-challenge', {
    params,
    body: asked,
  })
  const excludeCredentials = (options.excludeCredentials ?? []).map(({ rawId }) => ({
    id: base64(rawId),
    type: 'public-key',
  }))
  const owner = { ...options.user, id: base64(textHex(options.user.id)) }
  // One that stays on this device can be found without a name, and signs in alone.
  const isPasskey = form.authenticatorAttachment === 'platform'
  const passkey = { residentKey: 'preferred', userVerification: 'preferred' }
  const optionsJSON = {
    ...options,
    authenticatorSelection: { ...options.authenticatorSelection, ...(isPasskey && passkey) },
    user: owner,
    challenge: base64(options.challenge),
    excludeCredentials,
  } as Registering
  const { startRegistration } = await library()
  const made = await unlessCancelled(startRegistration({ optionsJSON }))
  if (made === null) return false
  const { clientDataJSON, attestationObject } = made.response
  const answer = { clientDataJSON: hex(clientDataJSON), attestationObject: hex(attestationObject) }
  const body = { rpId: location.hostname, challenge: options.challenge, rawId: hex(made.rawId), ...answer }
  await call('POST /users/:user/2fa/webauthn/registration-attestation', { params, body })
  return true
}

async function unlessCancelled<T>(asking: Promise<T>): Promise<T | null> {
  try {
    return await asking
  } catch (error) {
    if (error instanceof Error && ['NotAllowedError', 'AbortError'].includes(error.name)) return null
    throw error
  }
}

function base64(digits: string): string {
  const bytes = (digits.match(/../g) ?? []).map(byte => String.fromCharCode(Number.parseInt(byte, 16)))
  return btoa(bytes.join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

function hex(text: string): string {
  const bytes = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return [...bytes].map(byte => byte.charCodeAt(0).toString(16).padStart(2, '0')).join('')
}

function textHex(text: string): string {
  return [...new TextEncoder().encode(text)].map(byte => byte.toString(16).padStart(2, '0')).join('')
}
