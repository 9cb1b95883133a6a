// Every way in which a request can be refused: one table of codes, texts and what each protocol answers.
//
// A `Fault` is the world's mistake (bad input, a missing row, a full disk) and its text may be shown to a stranger;
// our own mistakes are assertions and ordinary errors, which no client ever sees. Codes and statuses are those of
// api-semantics 1.7; where the original answers 500 for a client's mistake, the code stays and the status is right.

export interface FaultForm {
  /** HTTP status. */
  readonly status: number
  /** What a person reads. */
  readonly text: string
  /** SMTP and LMTP: reply code and enhanced code (RFC 3463); 451 4.3.0 where absent. */
  readonly smtp?: string
  /** IMAP response code (RFC 5530); none where absent. */
  readonly imap?: string
}

const table = {
  // Requests
  InputValidationError: { status: 400, text: 'The request is not valid', smtp: '501 5.5.4', imap: 'CLIENTBUG' },
  InvalidContent: { status: 400, text: 'The body is not valid for its content type' },
  UnsupportedMediaType: { status: 415, text: 'The content type is not supported here' },
  BodyTooLarge: { status: 413, text: 'The body is larger than allowed' },
  BodyTimedOut: { status: 408, text: 'The body took too long to arrive' },
  ResourceNotFound: { status: 404, text: 'There is no such resource' },
  MethodNotAllowed: { status: 405, text: 'The method is not allowed for this resource' },
  InvalidToken: { status: 403, text: 'The access token is not valid' },
  TokenNotFound: { status: 404, text: 'This access token does not exist' },
  ForeignPage: { status: 403, text: 'Pages of other origins may not call this service' },
  MissingPrivileges: { status: 403, text: 'Not enough privileges', imap: 'NOPERM' },
  RangeNotSatisfiable: { status: 416, text: 'The requested range is outside the content' },

  // Commands of the mail protocols
  BadSequence: { status: 400, text: 'The command may not be given now', smtp: '503 5.5.1' },
  TlsNeeded: { status: 400, text: 'REQUIRETLS needs a session that is encrypted', smtp: '530 5.7.10' },
  ParameterUnknown: { status: 400, text: 'The parameter is not known here', smtp: '555 5.5.4' },
  MechanismUnknown: { status: 400, text: 'The authentication mechanism is not offered', smtp: '504 5.5.4' },
  PathMalformed: { status: 400, text: 'The address is not valid', smtp: '501 5.1.3' },
  SenderMalformed: { status: 400, text: 'The address of the sender is not valid', smtp: '501 5.1.7' },
  PathNeedsUtf8: { status: 400, text: 'Such an address needs SMTPUTF8', smtp: '553 5.6.7' },
  TooManyRecipients: { status: 400, text: 'Too many recipients, send to the others apart', smtp: '452 4.5.3' },
  NoRecipients: { status: 400, text: 'There is no valid recipient', smtp: '503 5.5.1' },
  TooManyErrors: { status: 400, text: 'Too many errors', smtp: '421 4.7.0' },
  NothingSent: { status: 408, text: 'No message came for too long', smtp: '421 4.7.0' },
  CommandNotOffered: { status: 501, text: 'The command is not offered here', smtp: '502 5.5.1' },
  BadCommand: { status: 400, text: 'The command is not valid', smtp: '500 5.5.2' },
  CommandUnknown: { status: 400, text: 'The command is not known', smtp: '500 5.5.1' },
  TransferLimit: { status: 403, text: 'The daily transfer limit is reached', smtp: '452 4.7.0', imap: 'LIMIT' },
  MailboxReadOnly: { status: 400, text: 'The mailbox is read-only', imap: 'NOPERM' },
  AuthUnknown: { status: 400, text: 'The mechanism is not supported', imap: 'CANNOT' },
  CompressionActive: { status: 400, text: 'The connection is compressed already', imap: 'COMPRESSIONACTIVE' },
  NoTargetMailbox: { status: 404, text: 'This mailbox does not exist', imap: 'TRYCREATE' },
  LiteralTooLarge: { status: 413, text: 'The literal is larger than allowed', imap: 'TOOBIG' },
  TooManyKeywords: { status: 400, text: 'The mailbox has too many keywords', imap: 'LIMIT' },
  SpecialUseTaken: { status: 400, text: 'This special use cannot be given', imap: 'USEATTR' },
  UnknownCharset: { status: 400, text: 'The character set is not supported', imap: 'BADCHARSET (UTF-8 US-ASCII)' },
  UnknownEncoding: { status: 400, text: 'The part cannot be decoded', imap: 'UNKNOWN-CTE' },

  // The service itself
  Overloaded: { status: 503, text: 'The service is busy, try again', smtp: '451 4.3.2', imap: 'UNAVAILABLE' },
  StorageUnavailable: { status: 503, text: 'Storage is not available now', smtp: '452 4.3.1', imap: 'UNAVAILABLE' },
  TimedOut: { status: 503, text: 'The operation took too long', smtp: '451 4.3.2', imap: 'UNAVAILABLE' },
  DataDirectoryInUse: { status: 503, text: 'Another process is using this data directory' },
  DataDirectoryUnusable: { status: 503, text: 'The data directory cannot be used' },
  DataMissing: { status: 503, text: 'Part of the stored data is missing' },
  PortInUse: { status: 503, text: 'A port is in use already' },
  ConfigInvalid: { status: 500, text: 'The configuration is not valid' },
  DatabaseTooNew: { status: 503, text: 'The database was written by a newer version of this program' },
  IdleTimeout: { status: 408, text: 'Nothing was heard for too long', smtp: '421 4.4.2' },
  LineTooLong: { status: 400, text: 'The line is too long', smtp: '500 5.5.2', imap: 'TOOBIG' },
  TooManyReads: { status: 503, text: 'Too many searches at once, try again later', imap: 'LIMIT' },
  TooManySessions: { status: 503, text: 'Too many sessions, try again later', smtp: '421 4.7.0', imap: 'LIMIT' },
  CertificateInvalid: { status: 400, text: 'The certificate or its private key is not valid' },
  Stopping: { status: 503, text: 'The service is stopping', smtp: '421 4.3.2', imap: 'UNAVAILABLE' },
  InternalError: { status: 500, text: 'An internal error happened', smtp: '451 4.3.0', imap: 'SERVERBUG' },

  // Users and addresses
  UserNotFound: { status: 404, text: 'This user does not exist', smtp: '550 5.1.1', imap: 'NONEXISTENT' },
  NoAccountsYet: { status: 503, text: 'Nobody has an account here yet, try again later', smtp: '451 4.3.0' },
  UserExistsError: { status: 400, text: 'This username already exists' },
  AddressExistsError: { status: 400, text: 'This email address already exists' },
  ContactNotFound: { status: 404, text: 'This contact does not exist' },
  AddressNotFound: { status: 404, text: 'This address does not exist', smtp: '550 5.1.1' },
  ChangeNotAllowed: { status: 400, text: 'This change is not allowed' },
  NotPermitted: { status: 400, text: 'This operation is not permitted' },
  WildcardNotPermitted: { status: 400, text: 'Wildcard addresses are not permitted here' },
  UserDisabled: { status: 403, text: 'This account is disabled', smtp: '550 5.2.1' },
  OverQuotaError: { status: 400, text: 'The user is over quota', smtp: '552 5.2.2', imap: 'OVERQUOTA' },

  // Authentication
  AuthFailed: { status: 403, text: 'Authentication failed', smtp: '535 5.7.8', imap: 'AUTHENTICATIONFAILED' },
  RateLimitedError: { status: 403, text: 'Too many attempts, try again later', smtp: '454 4.7.0', imap: 'LIMIT' },
  InvalidAuthScope: {
    status: 403,
    text: 'This password may not be used here',
    smtp: '535 5.7.8',
    imap: 'AUTHORIZATIONFAILED',
  },
  AuthRequired: { status: 403, text: 'Authentication is required', smtp: '530 5.7.0', imap: 'PRIVACYREQUIRED' },
  SessionEnded: { status: 403, text: 'What this session began with is over, log in again', smtp: '421 4.7.0' },
  AuthNeedsTls: { status: 403, text: 'A password is taken over TLS only', smtp: '538 5.7.11', imap: 'PRIVACYREQUIRED' },
  AuthMalformed: {
    status: 400,
    text: 'The authentication exchange is not valid',
    smtp: '501 5.5.2',
    imap: 'CLIENTBUG',
  },
  AuthCancelled: { status: 400, text: 'The authentication exchange was cancelled', smtp: '501 5.7.0' },
  HashError: { status: 400, text: 'The password hash is of no known form' },
  SealBroken: { status: 500, text: 'A stored secret cannot be read with the configured key' },
  InvalidAttestation: { status: 400, text: 'The security key could not be registered with this answer' },
  InvalidAssertion: { status: 403, text: 'The answer of the security key is not right' },

  AuthFail: { status: 403, text: 'The existing password is not right' },
  FreshLoginRequired: { status: 403, text: 'Give the existing password, or log in again, to change this' },
  TempPasswordNotYetValid: {
    status: 403,
    text: 'The temporary password is not valid yet',
    smtp: '535 5.7.8',
    imap: 'AUTHENTICATIONFAILED',
  },
  TotpEnabled: { status: 400, text: 'One-time codes are switched on already' },
  TotpDisabled: { status: 400, text: 'One-time codes are not switched on' },
  CustomEnabled: { status: 400, text: 'The custom second factor is switched on already' },
  CustomDisabled: { status: 400, text: 'The custom second factor is not switched on' },
  WebAuthnDisabled: { status: 400, text: 'No security key is registered' },
  InvalidTotpNonce: { status: 403, text: 'The login is not known or not waiting for this any more' },
  Invalid2faNonce: { status: 403, text: 'The login is not known or not waiting for this any more' },
  ChallengeNotFound: { status: 404, text: 'The challenge is not known, used or too old' },
  CredentialsNotFound: { status: 404, text: 'There is no such security key' },
  AspNotFound: { status: 404, text: 'There is no such application password' },
  SessionNotFound: { status: 404, text: 'There is no such session' },
  EventNotFound: { status: 404, text: 'There is no such event' },
  InsecurePasswordError: { status: 403, text: 'This password is known from a data breach' },

  // Mailboxes and messages
  NothingChanged: { status: 400, text: 'Nothing was changed' },
  NoSuchMailbox: { status: 404, text: 'This mailbox does not exist', imap: 'NONEXISTENT' },
  MailboxExistsError: {
    status: 400,
    text: 'A mailbox with this name already exists',
    imap: 'ALREADYEXISTS',
  },
  DisallowedMailboxMethod: { status: 400, text: 'This is not allowed for this mailbox', imap: 'CANNOT' },
  MessageNotFound: { status: 404, text: 'This message does not exist', imap: 'NONEXISTENT' },
  AttachmentNotFound: { status: 404, text: 'This attachment does not exist' },
  TooManyMessages: { status: 400, text: 'Too many messages at once', imap: 'LIMIT' },
  MessageTooLarge: { status: 413, text: 'The message is larger than allowed', smtp: '552 5.3.4', imap: 'TOOBIG' },
  MessageMalformed: {
    status: 400,
    text: 'The message has a lone dot between bare line ends, which mail servers read differently',
    smtp: '554 5.6.0',
  },
  EmptyMessage: { status: 400, text: 'The message is empty' },

  BodyUnreadable: { status: 500, text: 'This message cannot be read: stored bytes are missing', imap: 'CORRUPTION' },
  ArchivedMessageNotFound: { status: 404, text: 'This archived message does not exist' },
  MessageNotDraft: { status: 400, text: 'The message is not a draft' },
  NoSuchQueueEntry: { status: 404, text: 'This message is not in the outbound queue' },
  TooMany: { status: 403, text: 'Too many recipients' },
  RecipientSuppressed: {
    status: 403,
    text: 'This address does not exist and is not tried for a while',
    smtp: '550 5.1.1',
  },
  SendingPaused: {
    status: 403,
    text: 'This account has sent much more than it usually does; it is held back until the postmaster lets it go on',
    smtp: '450 4.7.1',
  },
  NotPaused: { status: 404, text: 'This account is not held back' },
  NotSuppressed: { status: 404, text: 'This address is written to' },
  ENORECIPIENTS: { status: 400, text: 'The message has no recipient' },
  EncryptionUnsupported: { status: 400, text: 'This kind of encryption is not supported' },

  // Domains
  AliasExists: { status: 400, text: 'This domain alias already exists' },
  AliasNotFound: { status: 404, text: 'This domain alias does not exist' },
  DomainNotFound: { status: 404, text: 'This domain does not exist' },
  DomainExists: { status: 400, text: 'This domain was made already' },
  DomainInUse: { status: 400, text: 'Something of this domain is still here' },
  DomainLimit: { status: 403, text: 'The domain has as much of this as it may have' },
  // As for a closed account, who writes is told at once: a mail that waits for days, and then comes back, helps nobody.
  DomainDisabled: { status: 403, text: 'This domain takes no mail', smtp: '550 5.1.2' },

  // Stored files
  FileNotFound: { status: 404, text: 'This file does not exist' },
  TooManyFiles: { status: 403, text: 'There are as many stored files as there may be' },

  // Deleted accounts
  AccountNotFound: { status: 404, text: 'There is no deleted account with this id' },
  AccountFound: { status: 400, text: 'This account is not deleted' },
  DeleteInProgress: { status: 400, text: 'The data of this account are being deleted' },
  DeliveryRateExceeded: {
    status: 403,
    text: 'This account receives too many messages now, try again later',
    smtp: '451 4.2.1',
  },

  // Certificates and DKIM keys
  CertNotFound: { status: 404, text: 'This certificate does not exist' },
  TooManyCertificates: { status: 403, text: 'There are as many certificates as there may be' },
  DkimNotFound: { status: 404, text: 'This DKIM key does not exist' },
  TooManyDkimKeys: { status: 403, text: 'There are as many DKIM keys as there may be' },

  // Tasks
  TaskNotFound: { status: 404, text: 'This task does not exist' },
  TaskStopped: { status: 400, text: 'It was stopped' },
  SourceRefused: { status: 400, text: 'The other server does not take this name and password' },
  SourceUnreachable: { status: 502, text: 'The other server could not be reached' },
  SourceInsecure: { status: 400, text: 'A password goes to this server over TLS only' },
  TaskUnknown: { status: 400, text: 'Nobody here knows how to do this task' },

  // Rules and mail on its way out
  FilterNotFound: { status: 404, text: 'This filter does not exist' },
  Greylisted: {
    status: 503,
    text: 'Nobody here knows your host, and something speaks against it; mail that comes again in some minutes is taken',
    smtp: '451 4.7.1',
  },
  NetworkBusy: {
    status: 429,
    text: 'Too many messages came from your network, or from hosts of your organization, in an hour',
    smtp: '450 4.7.1',
  },
  TooManyUnknown: {
    status: 429,
    text: 'Too many recipients that do not exist were named from your network',
    smtp: '450 4.7.1',
  },
  SenderUnproven: {
    status: 503,
    text: 'The domain in From wants unproven messages refused (DMARC), and a name server by which this one might be proven did not answer; try again later',
    smtp: '451 4.7.26',
  },
  SenderRefused: {
    status: 403,
    text: 'The domain in From wants messages refused that it cannot be proven to have sent (DMARC)',
    smtp: '550 5.7.26',
  },
  VirusFound: { status: 403, text: 'The message holds a virus', smtp: '550 5.7.1' },
  ForwardLoop: { status: 400, text: 'The message goes round in circles', smtp: '554 5.4.6' },

  // Moving in and out
  INVALID_SEQUENCE: { status: 400, text: 'This is no export: it does not begin like one' },
  INVALID_DATA: { status: 400, text: 'This is an export of something else' },
  ExportInvalid: { status: 400, text: 'The export is damaged' },
  BackupInvalid: { status: 400, text: 'This is no backup, or it is damaged' },
  StoreDamaged: { status: 500, text: 'Something is wrong with the stored data' },
  AuditNotFoundError: { status: 404, text: 'This audit does not exist' },

  // Webhooks
  TooManyWebhooks: { status: 403, text: 'There are as many webhooks as there may be' },
  WebhookNotFound: { status: 404, text: 'This webhook does not exist' },
  DeliveryNotFound: { status: 404, text: 'This delivery does not exist' },
} as const satisfies Record<string, FaultForm>

export type FaultCode = keyof typeof table

/** The table itself, for documentation and for the test that provokes every code. */
export const faultForms: Readonly<Record<FaultCode, FaultForm>> = table

export interface FaultOptions {
  /** Text instead of the table's; must be fit for a stranger and hold no secret. */
  readonly text?: string
  /** Field path joined with commas -> first message for it (api-semantics 1.5). */
  readonly details?: Readonly<Record<string, string>>
  /** Further keys of the HTTP answer, `allowed` or `username` for example. */
  readonly extra?: Readonly<Record<string, unknown>>
  /** Another HTTP status than the table's, where the original has two for one code. */
  readonly status?: number
  /** Seconds for a Retry-After header. */
  readonly retryAfter?: number
  /** What caused it; for the log only. */
  readonly cause?: unknown
}

export class Fault extends Error {
  readonly code: FaultCode
  readonly status: number
  readonly details: Readonly<Record<string, string>> | undefined
  readonly extra: Readonly<Record<string, unknown>> | undefined
  readonly retryAfter: number | undefined

  constructor(code: FaultCode, options: FaultOptions = {}) {
    const form: FaultForm = table[code]
    super(options.text ?? form.text, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'Fault'
    this.code = code
    this.status = options.status ?? form.status
    this.details = options.details
    this.extra = options.extra
    this.retryAfter = options.retryAfter
  }
}

/** What is behind a refusal, in the words of who knows: for who runs the service, never for strangers. '' where nothing is known. */
export function reasonOf({ cause }: { readonly cause?: unknown }): string {
  if (!(cause instanceof Error)) return ''
  const { message, code = '' } = cause as NodeJS.ErrnoException
  // Of a name with several addresses each was tried.
  if (cause instanceof AggregateError) return cause.errors.map(error => (error as Error).message).join(', ')
  return message || code || reasonOf(cause)
}

/** `a,b,0`, as details name a field, as sentences do: `a.b[0]`. */
export function dotted(path: string): string {
  return path.replace(/,(\d+)(?=,|$)/g, '[$1]').replaceAll(',', '.')
}

/** One bad field as a validation fault. */
export function invalid(field: string, reason: string): Fault {
  const text = `"${dotted(field)}" ${reason}`
  return new Fault('InputValidationError', { text, details: { [field]: text } })
}

/** What SMTP and LMTP answer for `error`: code, enhanced code, text. */
export function smtpReply(error: unknown): { code: number; enhanced: string; text: string } {
  const fault = error instanceof Fault ? error : new Fault('InternalError')
  const form: FaultForm = table[fault.code]
  const [code = '451', enhanced = '4.3.0'] = (form.smtp ?? '451 4.3.0').split(' ')
  return { code: Number(code), enhanced, text: fault.message }
}
