// The service of a test in this process, and all that a test may do with it, by plain calls: what is shown of it to a test of
// this process is in testing.ts, to another process in rest.ts.
//
// Everything that is delivered is told to the journal when it is on disk, however it came: over SMTP, by the API, as an
// answer or a report. Mail for others comes back through the own port, so nothing ever leaves.

import type { DeliveryEnvelope, DeliveryResult } from '#actors/delivery/envelope.ts'
import type { DeliveryObserver } from '#actors/delivery/local-delivery.ts'
import type { ConfigPart } from '#config'
import type { Core } from '#core'
import { advanceClock, after, now, onAdvance, shiftClock } from '#lib/clock.ts'
import { Fault, smtpReply } from '#lib/fault.ts'
import { newId, randomHex } from '#lib/id.ts'
import { composeReport } from '#mail/made/dsn.ts'
import { startTeal, type Teal } from '#service'
import type * as Promised from '../testing.d.ts'
import { Accounts } from './accounts.ts'
import { type Entry, Journal } from './arrived/journal.ts'
import { type Facts, type Records, readMail, verify } from './arrived/mail.ts'
import { Failures } from './failures.ts'
import { seedAccount } from './seed.ts'
import { deliver, envelopeOf, writeDraft } from './sending.ts'

/** Bytes of a mail that is kept here besides in the store. */
const keptBytesMax = 256 * 1024

/** Services of this process whose clock is moved together. */
let openHosts = 0

interface Parts {
  readonly accounts: Accounts
  readonly failures: Failures
}

export interface InboxForm {
  readonly address: string
  readonly user: string
  readonly password: string
}

export class Host {
  readonly teal: Teal
  readonly journal = new Journal()
  readonly failures: Failures
  readonly #accounts: Accounts
  readonly #records: Records | null
  readonly #real: boolean
  readonly #later = new Set<() => void>()
  readonly #full = new Map<string, { stop(): void }>()
  #closed: Promise<void> | undefined

  private constructor(teal: Teal, options: Promised.TestingOptions, parts: Parts) {
    this.teal = teal
    this.failures = parts.failures
    this.#accounts = parts.accounts
    this.#real = options.auth === 'real'
    this.#records = recordsOf(options.dns)
    openHosts += 1
    teal.core.delivery.observe(this.#observe)
  }

  /** @throws Fault PortInUse, DataDirectoryInUse, ConfigInvalid */
  static async start(options: Promised.TestingOptions = {}): Promise<Host> {
    const { accept = 'any', config = {} } = options
    const accepted = accept === 'any' ? null : new Set(accept.map(one => one.toLowerCase()))
    const accounts = new Accounts({ accept: accepted, open: options.auth !== 'real' })
    const failures = new Failures()
    const hooks = {
      intercept: failures.intercept,
      starttls: options.starttls === true,
      recipient: (core: Core, address: string) => accounts.recipient(core, address),
      authenticate: accounts.authenticate.bind(accounts),
    }
    const teal = await startTeal(settings(options.host, config) as ConfigPart, { hooks, background: true })
    return new Host(teal, options, { accounts, failures })
  }

  async inbox(name = 'inbox'): Promise<InboxForm> {
    const local =
      name
        .toLowerCase()
        .replace(/[^a-z0-9_-]+/g, '-')
        .replace(/^-+|-+$/g, '') || 'inbox'
    const address = `${local.slice(0, nameLengthMax)}-${randomHex(uniqueBytes)}@${inboxDomain}`
    const password = randomHex(passwordBytes)
    await this.#accounts.make(this.teal.core, address, this.#real ? password : undefined)
    return { address, user: address, password }
  }

  async seed(address: string, seed: Promised.Seed): Promise<void> {
    const user = await this.#accounts.make(this.teal.core, address)
    await seedAccount(this.teal.core, user, seed)
  }

  /** Has an address refuse mail as one without room does. */
  full(address: string, full: boolean): void {
    this.#full.get(address)?.stop()
    this.#full.delete(address)
    if (!full) return
    const { code, enhanced, text } = smtpReply(new Fault('OverQuotaError'))
    this.#full.set(address, this.failures.add({ at: 'rcpt', to: address, reply: `${code} ${enhanced} ${text}` }))
  }

  async send(draft: Promised.Draft, given: { from?: string; to?: string | readonly string[] } = {}): Promise<void> {
    const named = envelopeOf(draft)
    const to = given.to === undefined ? named.to : [given.to].flat()
    await deliver(this.port('smtp'), { from: given.from ?? named.from, to }, await writeDraft(draft))
  }

  advance(ms: number): void {
    if (!(ms >= 0)) throw new TypeError('Time goes on: advance takes milliseconds from 0')
    advanceClock(ms)
  }

  port(name: 'smtp' | 'submissions' | 'imap' | 'pop3'): Promised.MailPort {
    const found = this.teal.listeners[name]
    if (found === undefined) throw new Error(`The listener ${name} is off in this service`)
    const host = found.host === '0.0.0.0' || found.host === '::' ? '127.0.0.1' : found.host
    return { host, port: found.port }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    for (const cancel of this.#later) cancel()
    try {
      await this.teal.close()
    } finally {
      openHosts -= 1
      if (openHosts === 0) shiftClock(0)
    }
  }

  readonly #observe: DeliveryObserver = async (envelope, results, { body, size, bytes }) => {
    const to = taken(envelope, results)
    if (to.length === 0) return
    const { bodies } = this.teal.core
    const raw = size <= keptBytesMax || !(await isStored(bodies, body)) ? await gathered(bytes()) : undefined
    const load = async () => raw ?? (await gathered((await bodies.open(body, false)).stream()))
    const facts: Facts = {
      ...{ id: newId(), seq: this.journal.next(), arrived: now(), size },
      envelope: { from: envelope.from, to },
      session: sessionOf(envelope.speaker),
    }
    this.journal.add(new StoredEntry(facts, load, this.teal.config.hostname, this.#records))
    for (const bounce of this.failures.bounces(envelope.from, to)) {
      this.#afterwards(bounce.afterMs, () => this.#bounce(envelope.from, bounce, load))
    }
  }

  /** Does it when the service's time has gone on by so much, or the clock on the wall has. */
  #afterwards(ms: number, task: () => Promise<void>): void {
    const due = now() + ms
    const cancel = () => {
      timer.cancel()
      deaf()
      this.#later.delete(cancel)
    }
    const run = () => {
      cancel()
      task().catch(error => this.teal.core.log.error({ error }, 'a report could not be made'))
    }
    const timer = after(ms, run)
    const deaf = onAdvance(() => {
      if (now() >= due) run()
    })
    this.#later.add(cancel)
  }

  async #bounce(
    to: string,
    { recipients, text }: { readonly recipients: readonly string[]; readonly text: string },
    load: () => Promise<Buffer>,
  ): Promise<void> {
    const { bodies, delivery, config } = this.teal.core
    const status = Number(/^\d{3}/.exec(text)?.[0] ?? 0) || null
    const failed = recipients.map(address => ({ address, action: 'failed' as const, status, response: text }))
    const original = await load()
    const messageId = /^message-id:\s*(<[^>\s]+>)/im.exec(original.toString('latin1'))?.[1]
    const form = { hostname: config.hostname, to, now: now(), arrived: now(), recipients: failed, messageId }
    const received = await bodies.receive(composeReport({ ...form, original, whole: true }))
    try {
      await this.#accounts.recipient(this.teal.core, to)
      await delivery.deliver(received, { from: '', recipients: [await delivery.recipient(to)], source: 'smtp' })
    } finally {
      await received.discard()
    }
  }
}

/** Of names that people wrote. */
const nameLengthMax = 40
const uniqueBytes = 4
const passwordBytes = 8

/** Reserved (RFC 2606 2), so that a mail that escapes a test goes nowhere. */
const inboxDomain = 'inbox.test'

/** What a service of a test is, where nothing else is said. */
function settings(host: string | undefined, config: Promised.TestingOptions['config'] = {}): object {
  const names = ['smtp', 'lmtp', 'submission', 'submissions', 'imap', 'imaps', 'pop3', 'pop3s'] as const
  const listeners = names.map(name => {
    const given = typeof config[name] === 'object' ? config[name] : {}
    return [name, { port: 0, ...(host !== undefined && { host }), ...(given as object) }]
  })
  return {
    ...config,
    ...Object.fromEntries(listeners),
    // What of it keeps the process alive could not be told not to over uWebSockets.js.
    api: { port: 0, front: 'node:http', ...(config.api as object) },
    auth: { cleartext: 'always', ...(config.auth as object) },
    network: { allowPrivate: ['127.0.0.0/8', '::1/128'], ...(config.network as object) },
  }
}

function recordsOf(dns: Promised.TestingOptions['dns']): Records | null {
  if (dns === undefined) return null
  const known = new Map(Object.entries(dns).map(([name, text]) => [name.toLowerCase(), [text].flat()]))
  return name => known.get(name.toLowerCase().replace(/\.$/, ''))
}

/** Who got it. */
function taken({ recipients }: DeliveryEnvelope, results: readonly DeliveryResult[]): string[] {
  return recipients.flatMap(({ address }, at) => ('stored' in (results[at] ?? {}) ? [address] : []))
}

function sessionOf(speaker: DeliveryEnvelope['speaker']): Facts['session'] {
  if (speaker === undefined) return null
  const { protocol, helo, tls, user, remoteAddress: address } = speaker
  const secured = tls === undefined ? null : { protocol: tls.protocol, cipher: tls.cipher }
  return { protocol, helo, tls: secured, login: typeof user === 'string' ? user : null, address }
}

/** Whether a body can be read again: a message that somebody had already, or that is stored encrypted, is not there. */
async function isStored(bodies: Core['bodies'], num: number): Promise<boolean> {
  try {
    await bodies.open(num, false)
    return true
  } catch {
    return false
  }
}

async function gathered(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const chunk of chunks) pieces.push(chunk)
  return Buffer.concat(pieces)
}

/** A mail of this process: read when somebody looks at it, and kept for as long as somebody does. */
class StoredEntry implements Entry {
  readonly facts: Facts
  readonly raw: () => Promise<Buffer>
  readonly #hostname: string
  readonly #records: Records | null
  #reading: Promise<Promised.Mail> | undefined
  #read: WeakRef<Promised.Mail> | undefined

  constructor(facts: Facts, raw: () => Promise<Buffer>, hostname: string, records: Records | null) {
    this.facts = facts
    this.raw = raw
    this.#hostname = hostname
    this.#records = records
  }

  async mail(): Promise<Promised.Mail> {
    const known = this.#read?.deref()
    if (known !== undefined) return known
    this.#reading ??= this.#load().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #load(): Promise<Promised.Mail> {
    const raw = await this.raw()
    const mail = await readMail(this.facts, raw, await verify(this.facts, raw, this.#hostname, this.#records))
    this.#read = new WeakRef(mail)
    return mail
  }
}
