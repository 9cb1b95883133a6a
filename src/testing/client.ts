// What a test has in its hands, made of the few things a service of this process or of another can be asked for: one face
// for both.
//
// Nothing here knows where the service is.

import { holding } from '#lib/clock.ts'
import type * as Promised from '../testing.d.ts'
import type { Source } from './arrived/journal.ts'
import { SourceMailbox } from './arrived/mailbox.ts'
import { variables } from './variables.ts'

/** What has to be asked for. */
export interface Service {
  readonly source: Source
  port(name: 'smtp' | 'submissions' | 'imap' | 'pop3'): Promised.MailPort
  inbox(name?: string): Promise<{ readonly address: string; readonly user: string; readonly password: string }>
  seed(address: string, seed: Promised.Seed): Promise<void>
  full(address: string, full: boolean): Promise<void> | void
  fail(rule: Promised.Failure): Promise<Promised.Failing>
  send(mail: Promised.Draft, envelope?: Parameters<Promised.TestingClient['send']>[1]): Promise<void>
  now(): number
  advance(ms: number): Promise<void> | void
  /** Forgets all that arrived. */
  forget(): Promise<void> | void
}

/** @param end what `close` does */
export function clientOf(service: Service, end: () => Promise<void>): Promised.TestingClient {
  const smtp = service.port('smtp')
  const imap = service.port('imap')
  const pop3 = service.port('pop3')
  return {
    all: new WholeMailbox(service),
    ...{ smtp, imap, pop3, smtps: service.port('submissions') },
    inbox: name => holding(async () => new OneInbox(service, await service.inbox(name), { imap, pop3 })),
    fail: rule => holding(() => service.fail(rule)),
    send: (mail, envelope) => holding(() => service.send(mail, envelope)),
    clock: { now: () => service.now(), advance: ms => holding(async () => service.advance(ms)) },
    env: stack => variables(smtp, stack),
    close: () => holding(end),
  }
}

class WholeMailbox extends SourceMailbox {
  readonly #service: Service

  constructor(service: Service) {
    super(service.source)
    this.#service = service
  }

  override async clear(): Promise<void> {
    await super.clear()
    await this.#service.forget()
  }
}

class OneInbox extends SourceMailbox implements Promised.Inbox {
  readonly address: string
  readonly user: string
  readonly password: string
  readonly imap: Promised.MailPort
  readonly pop3: Promised.MailPort
  readonly #service: Service

  constructor(
    service: Service,
    { address, user, password }: Awaited<ReturnType<Service['inbox']>>,
    ports: { readonly imap: Promised.MailPort; readonly pop3: Promised.MailPort },
  ) {
    super(service.source, address)
    this.#service = service
    this.address = address
    this.user = user
    this.password = password
    this.imap = ports.imap
    this.pop3 = ports.pop3
  }

  seed(seed: Promised.Seed): Promise<void> {
    return holding(() => this.#service.seed(this.address, seed))
  }

  async full(full = true): Promise<void> {
    await this.#service.full(this.address, full)
  }
}
