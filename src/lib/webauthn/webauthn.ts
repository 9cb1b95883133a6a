// Security keys on the wire (api-semantics 3.3): the options a browser is given, in the names and the hexadecimal digits
// that clients of this API know. Pure and light; checking what comes back is in attestation.ts, on a thread.
//
// Nothing here decides whether a challenge is still good: it lives in the cache, once.

export type Attachment = 'platform' | 'cross-platform'

export const attachments: readonly Attachment[] = ['cross-platform', 'platform']

/** COSE algorithms that are asked for and taken: ES256 and RS256. */
export const algorithms: readonly number[] = [-7, -257]

const timeoutMs = 60_000

/** What is kept of a challenge until its answer comes. */
export interface PendingKey {
  readonly purpose: 'register' | 'login'
  readonly user: string
  readonly origin: string
  readonly rpId: string
  readonly attachment: Attachment
  /** Name of the key that is being registered. */
  readonly description: string
  /** Digest of the login nonce that the challenge belongs to, or null. */
  readonly nonce: string | null
}

export interface RegistrationForm {
  readonly challenge: string
  readonly rp: { readonly id: string; readonly name: string }
  readonly user: { readonly id: string; readonly name: string; readonly displayName: string }
  readonly attachment: Attachment
  /** Keys of the same attachment that the user has already. */
  readonly known: readonly { readonly rawId: string }[]
}

export interface AuthenticationForm {
  readonly challenge: string
  readonly rpId: string
  /** The user's keys of the asked attachment. */
  readonly known: readonly { readonly rawId: string }[]
  /** Whether the key is the whole login, so that it has to know who uses it. */
  readonly alone: boolean
}

/** `registrationOptions` of a registration challenge. */
export function registrationOptions(form: RegistrationForm) {
  const transports = form.attachment === 'platform' ? ['internal'] : ['usb', 'nfc', 'ble']
  return {
    rp: { name: form.rp.name, id: form.rp.id },
    user: form.user,
    challenge: form.challenge,
    pubKeyCredParams: algorithms.map(alg => ({ type: 'public-key', alg })),
    timeout: timeoutMs,
    attestation: 'none',
    authenticatorSelection: { authenticatorAttachment: form.attachment, userVerification: 'discouraged' },
    ...(form.known.length === 0
      ? {}
      : { excludeCredentials: form.known.map(({ rawId }) => ({ rawId, type: 'public-key', transports })) }),
  }
}

/** `authenticationOptions` of an authentication challenge. */
export function authenticationOptions({ challenge, rpId, known, alone }: AuthenticationForm) {
  return {
    challenge,
    timeout: timeoutMs,
    rpId,
    userVerification: alone ? 'required' : 'discouraged',
    allowCredentials: known.map(({ rawId }) => ({ rawId, type: 'public-key' })),
  }
}

/** The origin of a URI as browsers write it (`https://mail.example.com`), or undefined where it has none. */
export function originOf(uri: string): string | undefined {
  if (!URL.canParse(uri)) return undefined
  const { origin, protocol } = new URL(uri)
  // Other schemes (android:apk-key-hash:...) have no origin in a URL's sense; they are compared as they are.
  if (origin !== 'null') return origin
  return protocol === 'android:' ? uri : undefined
}
