// What the thread for security keys, signed profiles and pictures does, by name: the shapes only, so that the main loop
// can speak of them without loading the libraries that do them (some 200 ms and 60 MB).
//
// All bytes are lower-case hexadecimal digits, as on the wire (api-semantics 3.3).

export interface KeyTasks {
  attest: { input: AttestationInput; value: Credential }
  assert: { input: AssertionInput; value: { counter: number } }
  profile: { input: ProfileInput; value: Uint8Array }
  qrcode: { input: { text: string }; value: string }
}

/** A registration to be checked: what was asked for, and what the browser brought. */
export interface AttestationInput {
  readonly challenge: string
  readonly origin: string
  readonly rpId: string
  readonly rawId: string
  readonly clientDataJSON: string
  readonly attestationObject: string
}

/** A registered key, as it is stored. */
export interface Credential {
  readonly rawId: string
  /** COSE_Key (RFC 9052). */
  readonly publicKey: string
  readonly counter: number
}

/** A login to be checked against a registered key. */
export interface AssertionInput {
  readonly challenge: string
  readonly origin: string
  readonly rpId: string
  readonly credential: Credential
  /** Whether the key must say that it knows who used it. */
  readonly verified?: boolean
  readonly clientDataJSON: string
  readonly authenticatorData: string
  readonly signature: string
}

interface MailServer {
  readonly host: string
  readonly port: number
  readonly tls: boolean
}

/** An Apple configuration profile with one mail account. */
export interface ProfileInput {
  /** `<configured identifier>.<user id>`. */
  readonly identifier: string
  readonly displayName: string
  readonly description: string
  readonly organization: string
  readonly accountDescription: string
  readonly accountName: string
  /** Address, and user name for both servers. */
  readonly address: string
  readonly password: string
  readonly incoming: MailServer & { readonly kind: 'imap' | 'pop3' }
  readonly outgoing: MailServer
  /** Certificate with its chain, and its private key, in PEM. */
  readonly certificate: string
  readonly privateKey: string
}
