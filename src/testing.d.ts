// What those see who test mail with Teal: `import { startTesting } from 'teal/testing'`. Written by hand, as teal.d.ts is, and
// without the types of any package.
//
// src/testing/testing.ts must fit it. Durations are milliseconds.

import type { ConfigPart, Teal } from './teal.d.ts'

/** Buffer where the types of Node are known, as they are with @types/node. */
type Bytes = typeof globalThis extends { Buffer: { isBuffer(value: unknown): value is infer Known } }
  ? Known
  : Uint8Array

/** A part of the text, whatever its case, or an expression. */
export type TextMatch = string | RegExp

/** What a mail must be: everything that is named. */
export interface Filter {
  /** Part of the address or the name in From, or of the envelope sender. */
  readonly from?: TextMatch
  /** One of the recipients, of the envelope or in To and Cc: an address as a whole, or an expression. */
  readonly to?: TextMatch
  readonly subject?: TextMatch
  /** In the plain text; that of the HTML where there is none. */
  readonly text?: TextMatch
  readonly html?: TextMatch
  /** Name of an attachment. */
  readonly attachment?: TextMatch
  readonly headers?: { readonly [name: string]: TextMatch }
}

/** A filter, or a question to the mail. */
export type MailFilter = Filter | ((mail: Mail) => boolean)

export interface MailAddress {
  readonly name: string
  readonly address: string
}

export interface MailAttachment {
  /** '' where it has none. */
  readonly filename: string
  readonly contentType: string
  /** Decoded. */
  readonly content: Bytes
  /** Bytes, decoded. */
  readonly size: number
  /** Content-ID without brackets. */
  readonly cid: string | undefined
  /** A picture of the HTML and not a file of its own. */
  readonly inline: boolean
}

/** How a mail came in. */
export interface MailSession {
  readonly protocol: string
  /** What the application calls itself (EHLO). */
  readonly helo: string
  /** Null without TLS. */
  readonly tls: { readonly protocol: string; readonly cipher: string } | null
  /** Name the application logged in with; null without a login. */
  readonly login: string | null
}

export interface Mail {
  readonly id: string
  /** When it arrived, milliseconds since 1970. */
  readonly arrived: number
  /** What was said in SMTP: Bcc recipients stand here, too. */
  readonly envelope: { readonly from: string; readonly to: readonly string[] }
  /** Null for mail that was made in here: an answer, a report, a message of the HTTP API. */
  readonly session: MailSession | null
  readonly from: MailAddress | undefined
  readonly to: readonly MailAddress[]
  readonly cc: readonly MailAddress[]
  readonly replyTo: readonly MailAddress[]
  readonly subject: string
  readonly messageId: string
  /** Milliseconds since 1970; null where it has none. */
  readonly date: number | null
  readonly text: string
  /** '' where it has none. */
  readonly html: string
  /** Decoded values by name in lower case, in order. */
  readonly headers: { readonly [name: string]: readonly string[] }
  readonly attachments: readonly MailAttachment[]
  /** As the application sent it. */
  readonly raw: Bytes
  /** Domain that may send from there, or false; asked of the records in `dns`. */
  readonly spf: string | false
  /** Domain whose signature is valid, or false; likewise. */
  readonly dkim: string | false
  /** The domain in From where it is proven, else false; undefined where that domain has no policy. */
  readonly dmarc: string | false | undefined
  /** Targets of all links, those of the HTML first, each once. */
  links(): string[]
  /** The first link that matches. @throws an error that names all links */
  link(match?: TextMatch): string
  /** The number of four to eight digits to be typed in, or what `match` finds. @throws an error with the text */
  code(match?: RegExp): string
}

export interface WaitOptions {
  /** Default: 5 seconds. */
  readonly timeout?: number
}

export interface Mailbox {
  /** The next mail that matches and was given to nobody by this mailbox's `wait` yet, arrived or still to come. */
  wait(filter?: MailFilter, options?: WaitOptions): Promise<Mail>
  /** So many of them. */
  wait(filter: MailFilter | undefined, options: WaitOptions & { readonly count: number }): Promise<Mail[]>
  /** Fails where one is there, or comes within so long (default 200), that no `wait` has given out. */
  none(filter?: MailFilter, options?: { readonly within?: number }): Promise<void>
  /** All that match, given out or not. */
  list(filter?: MailFilter): Promise<Mail[]>
  /** Forgets what has arrived; accounts keep it. */
  clear(): Promise<void>
}

export interface MailPort {
  readonly host: string
  readonly port: number
}

export interface Inbox extends Mailbox {
  readonly address: string
  readonly user: string
  readonly password: string
  readonly imap: MailPort
  readonly pop3: MailPort
  /** Fills the account: folders are made, messages are put in. */
  seed(seed: Seed): Promise<void>
  /** From now on mail to it is refused: the mailbox is full. */
  full(full?: boolean): Promise<void>
}

/** A mail as nodemailer writes one, in short; or a whole message. */
export type Draft =
  | string
  | Bytes
  | {
      readonly from?: string
      readonly to?: string | readonly string[]
      readonly cc?: string | readonly string[]
      readonly subject?: string
      readonly text?: string
      readonly html?: string
      readonly headers?: { readonly [name: string]: string }
      readonly attachments?: readonly {
        readonly filename?: string
        readonly contentType?: string
        readonly content: string | Bytes
      }[]
    }

export interface SeedMessage {
  /** A message, a path of an .eml file (`{ eml: path }`), or all messages of an mbox file. */
  readonly mail?: Draft
  readonly eml?: string
  readonly mbox?: string
  /** Default: INBOX. */
  readonly folder?: string
  readonly seen?: boolean
  readonly flagged?: boolean
  /** Milliseconds since 1970. */
  readonly date?: number
}

export interface Seed {
  /** Paths with `/` between their parts. */
  readonly folders?: readonly string[]
  readonly messages?: readonly (Draft | SeedMessage)[]
}

export interface FailureStep {
  /** Default: smtp. */
  readonly protocol?: 'smtp' | 'imap' | 'pop3' | 'http'
  /**
   * Over SMTP `connect`, `auth`, `mail`, `rcpt`, `data` or `end` (all bytes are there); over IMAP and POP3 `connect` or a
   * command; over HTTP a method or `*`.
   */
  readonly at: string
  /** Only for this recipient (smtp: `rcpt`, `end`), or this path (http). */
  readonly to?: TextMatch
  /** Only for this envelope sender. */
  readonly from?: TextMatch
  /** So many times; without, until `stop`. */
  readonly times?: number
  /** Likelihood of each, 0 to 1; the same seed gives the same sequence. */
  readonly chance?: number
  readonly seed?: number
}

export type Failure = FailureStep &
  (
    | {
        /** Answer in place of the true one: `451 4.3.0 Later`, over IMAP `NO Not now`, over HTTP `503 Busy`. */
        readonly reply: string
        /** Before it. */
        readonly delay?: number
      }
    /** It takes longer, and then happens. */
    | { readonly delay: number; readonly reply?: undefined }
    /** The connection is cut. */
    | { readonly drop: true; readonly delay?: number }
    /** A recipient is refused for now until this time has passed since the first try from its sender. */
    | { readonly greylist: number }
    /** The mail is taken, and a report of failure goes to its sender, after so long (default 0). */
    | { readonly bounce: string; readonly after?: number }
  )

export interface Failing {
  /** How often it struck. */
  hits(): Promise<number>
  stop(): Promise<void>
}

export interface Clock {
  /** The service's time, milliseconds since 1970. */
  now(): number
  /** Moves it on: what is due by then is done. It is the clock of all services of this process. */
  advance(ms: number): Promise<void>
}

export type Stack = 'nodemailer' | 'django' | 'laravel' | 'rails' | 'spring' | 'smtp'

export interface TestingOptions {
  /** Recipients that are taken: any (default), or those whose address or domain is named. */
  readonly accept?: 'any' | readonly string[]
  /** Whether any password opens an account, made when it is first named (default), or the true one. */
  readonly auth?: 'any' | 'real'
  /**
   * Whether `smtp` offers STARTTLS, with a certificate that nobody has signed. Default: no, since many clients would take the offer
   * and then refuse the certificate; `smtps` has it in any case.
   */
  readonly starttls?: boolean
  /** TXT records for SPF, DKIM and DMARC; nobody else is asked. */
  readonly dns?: { readonly [name: string]: string | readonly string[] }
  /** Address to listen on. Default: 127.0.0.1. */
  readonly host?: string
  /** More of the settings. */
  readonly config?: ConfigPart
}

/** What a test has in its hands. */
export interface TestingClient {
  /** A new address with an account; a name is part of it. */
  inbox(name?: string): Promise<Inbox>
  /** Everything that arrives, whoever it is for: each message once. */
  readonly all: Mailbox
  fail(rule: Failure): Promise<Failing>
  readonly clock: Clock
  /** Sends a mail over SMTP, as a stranger. @throws what the service refuses it with */
  send(mail: Draft, envelope?: { readonly from?: string; readonly to?: string | readonly string[] }): Promise<void>
  /** Where applications deliver, without TLS; with STARTTLS where `starttls` says so. */
  readonly smtp: MailPort
  /** The same with TLS from the first byte. */
  readonly smtps: MailPort
  readonly imap: MailPort
  readonly pop3: MailPort
  /** Variables that set up an application, by the names its framework knows. */
  env(stack?: Stack): Record<string, string>
  close(): Promise<void>
}

/** For `await using`, where the compiler knows of it. */
type Disposing = typeof Symbol extends { readonly asyncDispose: infer Key extends symbol }
  ? { [Name in Key]: () => Promise<void> }
  : unknown

export type Testing = TestingClient & Teal & Disposing

/** Starts a mail service for tests in this process. It does not keep the process alive. */
export function startTesting(options?: TestingOptions): Promise<Testing>

/**
 * Uses the service that `teal/testing/global` started for this run, from any of its processes.
 *
 * @param place where it is; default: the environment variable TEAL_TESTING
 */
export function connectTesting(place?: string): Promise<TestingClient>

/** What the fixtures ask of a running test of Playwright. */
export interface MailTestInfo {
  readonly title: string
  readonly status?: string
  readonly expectedStatus: string
  attach(name: string, options: { body: string | Bytes; contentType: string }): Promise<void>
}

/** Fixtures of Playwright's runner (teal/testing/playwright). */
export interface MailFixtures {
  mail: [(fixtures: object, use: (mail: TestingClient) => Promise<void>) => Promise<void>, { scope: 'worker' }]
  inbox(fixtures: { mail: TestingClient }, use: (inbox: Inbox) => Promise<void>, testInfo: MailTestInfo): Promise<void>
}

interface Verdict {
  pass: boolean
  message(): string
}

/** For `expect.extend(matchers)` of vitest, jest and Playwright. */
export const matchers: {
  toHaveSubject(mail: Mail, subject: TextMatch): Verdict
  toHaveText(mail: Mail, text: TextMatch): Verdict
  toHaveLink(mail: Mail, link?: TextMatch): Verdict
  toHaveCode(mail: Mail, code?: TextMatch): Verdict
  toHaveAttachment(mail: Mail, attachment?: TextMatch | { filename?: TextMatch; contentType?: TextMatch }): Verdict
  toHaveRecipient(mail: Mail, address: TextMatch): Verdict
  toBeFrom(mail: Mail, address: TextMatch): Verdict
  toBeSignedBy(mail: Mail, domain: string): Verdict
  toBeSentOverTls(mail: Mail): Verdict
}

/** What `expect(mail)` has then: a runner's own types extend it (docs/testing.md, In TypeScript). */
export type MailMatchers<Result = void> = {
  [Name in keyof typeof matchers]: (typeof matchers)[Name] extends (mail: Mail, ...words: infer Words) => Verdict
    ? (...words: Words) => Result
    : never
}
