// Subscriptions to events: who wants what, in memory for every emit and every match, and the commands that change them.
//
// Subscriptions are rows; the set in memory is read again after each change and before whoever made it is answered, so
// an event emitted after that answer is matched against it. An event that no subscription wants is not written at all.
// All changes go through the directory, in its order.

import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { SecretBox } from '#lib/secret/secret-box.ts'
import { keepSecrets, UrlSecrets } from '#lib/secret/url-secret.ts'
import { findUser } from '#store/accounts/users.ts'
import type { Reader } from '#store/engine/reader.ts'
import { deadDeliveries, deliveryReplay, findDelivery } from '#store/events/deliveries.ts'
import {
  endpointNumber,
  endpointPause,
  listSubscriptions,
  type Subscription,
  webhookDelete,
  webhookInsert,
  webhookSecret,
} from '#store/events/subscriptions.ts'
import type { Command } from '../kernel/actor.ts'
import { additions, type EventName } from '../kernel/events.ts'
import type { Everywhere } from '../kernel/everywhere.ts'
import type { DirectoryHandle } from '../kernel/system.ts'
import type { DirectoryState } from './directory.ts'

/** The subscriptions of a service, matched in memory. */
export class Subscriptions {
  readonly #read: Reader
  readonly #seal: SecretBox
  readonly #secrets: UrlSecrets
  readonly #delivering: boolean
  readonly #listeners: (() => void)[] = []
  #everywhere: Everywhere | undefined
  /** Numbers of the last reading that began, and of the one that is in force. */
  #begun = 0
  #applied = 0
  #all: readonly Subscription[] = []
  #byId = new Map<string, Subscription>()
  /** Event name -> subscriptions whose patterns it matches, in order of id. */
  #matches = new Map<string, readonly Subscription[]>()

  private constructor(read: Reader, seal: SecretBox, delivering: boolean) {
    this.#read = read
    this.#seal = seal
    this.#secrets = new UrlSecrets(seal)
    this.#delivering = delivering
  }

  /**
   * @param seal under which the secrets are that sign deliveries, and those of URLs
   * @param delivering whether events are delivered; where not, all of the catalogue is kept for later
   */
  static async open(read: Reader, seal: SecretBox, delivering: boolean): Promise<Subscriptions> {
    const subscriptions = new Subscriptions(read, seal, delivering)
    await subscriptions.reload()
    return subscriptions
  }

  /** All of them, by id. */
  get all(): readonly Subscription[] {
    return this.#all
  }

  find(id: string): Subscription | undefined {
    return this.#byId.get(id)
  }

  /** Whether an event of this name is worth a row. */
  wanted(name: EventName): boolean {
    if (!this.#delivering && !additions.has(name)) return true
    return this.#named(name).length > 0
  }

  /** The subscriptions an event goes to, in order of id. One that is bound to an account gets that account's only. */
  match(name: string, user: string | null): readonly Subscription[] {
    const named = this.#named(name)
    if (named.every(subscription => subscription.user === null)) return named
    return named.filter(subscription => subscription.user === null || subscription.user === user)
  }

  /** Reads them again after a change. */
  async reload(): Promise<void> {
    const turn = ++this.#begun
    const rows = await listSubscriptions(this.#read)
    const all = await Promise.all(rows.map(row => this.#opened(row)))
    // Another that began later may be through already, and what it read is newer.
    if (turn < this.#applied) return
    this.#applied = turn
    this.#all = all
    this.#byId = new Map(this.#all.map(subscription => [subscription.id, subscription]))
    this.#matches = new Map()
    for (const listener of this.#listeners) listener()
  }

  /** From now on other nodes read them again too, where there are any. */
  share(everywhere: Everywhere): void {
    everywhere.keep('subscriptions', () => this.reload())
    this.#everywhere = everywhere
  }

  /** Whoever changed them may be answered when this resolves. */
  async changed(): Promise<void> {
    await this.#everywhere?.changed('subscriptions')
  }

  /** Calls `listener` after every change. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  async #opened(row: Subscription): Promise<Subscription> {
    const url = await this.#secrets.open(row.url)
    return { ...row, url, secret: row.secret === null ? null : await this.#seal.open(row.secret) }
  }

  #named(name: string): readonly Subscription[] {
    let found = this.#matches.get(name)
    if (found === undefined) {
      const patterns = patternsOf(name)
      found = this.#all.filter(subscription => subscription.type.some(type => patterns.has(type)))
      this.#matches.set(name, found)
    }
    return found
  }
}

/** What matches an event: its name, `*`, a wildcard at every level, and the old spelling of one name. */
function patternsOf(name: string): ReadonlySet<string> {
  const patterns = new Set(['*', name])
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) patterns.add(`${name.slice(0, dot)}.*`)
  if (name === 'forward.added') patterns.add('forward added')
  return patterns
}

export interface NewSubscription {
  readonly type: readonly string[]
  readonly url: string
  readonly user: string | null
  readonly secret: string | null
}

/** Changes subscriptions; every method answers when the change is on disk and in force. */
export class WebhookHandle {
  readonly #directory: DirectoryHandle
  readonly #seal: SecretBox
  readonly #secrets: UrlSecrets
  readonly subscriptions: Subscriptions

  /** @param seal the one the subscriptions were opened with */
  constructor(directory: DirectoryHandle, subscriptions: Subscriptions, seal: SecretBox) {
    this.#directory = directory
    this.#seal = seal
    this.#secrets = new UrlSecrets(seal)
    this.subscriptions = subscriptions
  }

  /**
   * Adds a subscription and answers its id.
   *
   * @throws Fault UserNotFound, TooManyWebhooks
   */
  async create(form: NewSubscription, signal?: AbortSignal): Promise<string> {
    const url = await this.#secrets.seal(form.url)
    return this.#change(createWebhook, { ...form, url, secret: await this.#sealed(form.secret) }, signal)
  }

  /** @throws Fault WebhookNotFound */
  delete(id: string, signal?: AbortSignal): Promise<void> {
    return this.#change(deleteWebhook, { id, reason: null }, signal)
  }

  /** Ends a subscription because its endpoint said so. */
  end(id: string, reason: string): Promise<void> {
    return this.#change(deleteWebhook, { id, reason })
  }

  /** Sets the secret that signs deliveries, or with null takes it away. @throws Fault WebhookNotFound */
  async setSecret(id: string, secret: string | null, signal?: AbortSignal): Promise<void> {
    return this.#change(changeSecret, { id, secret: await this.#sealed(secret) }, signal)
  }

  /** Pauses an endpoint with all its subscriptions. */
  pause(endpoint: number, reason: string): Promise<void> {
    return this.#change(pauseEndpoint, { endpoint, reason })
  }

  /** Lets the endpoint of a subscription run again. @throws Fault WebhookNotFound */
  resume(id: string, signal?: AbortSignal): Promise<void> {
    return this.#change(resumeWebhook, { id }, signal)
  }

  /** Puts one dead delivery back to the start. @throws Fault WebhookNotFound, DeliveryNotFound */
  async replay(id: string, event: number, n: number, signal?: AbortSignal): Promise<void> {
    await this.#change(replayDelivery, { id, event, n }, signal)
  }

  /** Puts all dead deliveries of a subscription back to the start; answers how many. @throws Fault WebhookNotFound */
  async replayDead(id: string, signal?: AbortSignal): Promise<number> {
    let total = 0
    for (;;) {
      const count = await this.#change(replayDead, { id }, signal)
      total += count
      if (count < limits.webhook.sweepRowsMax) return total
    }
  }

  async #sealed(secret: string | null): Promise<string | null> {
    return secret === null ? null : this.#seal.seal(secret)
  }

  async #change<Input, Reply>(
    command: Command<DirectoryState, Input, Reply>,
    input: Input,
    signal?: AbortSignal,
  ): Promise<Awaited<Reply>> {
    const reply = await this.#directory.run(command, input, signal)
    await this.subscriptions.reload()
    await this.subscriptions.changed()
    return reply
  }
}

type WebhookCommand<Input, Reply> = Command<DirectoryState, Input, Reply>

export const createWebhook: WebhookCommand<NewSubscription, Promise<string>> = {
  name: 'webhook.create',
  async run(turn, form) {
    const all = await listSubscriptions(turn.read)
    if (all.length >= limits.webhook.subscriptionsMax) throw new Fault('TooManyWebhooks')
    if (form.user !== null) {
      const user = await findUser(turn.read, form.user)
      if (user === undefined || user.deleted !== null) throw new Fault('UserNotFound')
    }
    const id = newId()
    const stored = all.map(one => one.url)
    const [url = form.url] = keepSecrets([form.url], stored, 'url')
    const endpoint = await endpointNumber(turn.read, url)
    const { type, user, secret } = form
    turn.write(webhookInsert, { id, endpoint, url, type, user, secret, created: turn.now })
    return id
  },
}

export const deleteWebhook: WebhookCommand<{ id: string; reason: string | null }, Promise<void>> = {
  name: 'webhook.delete',
  async run(turn, { id, reason }) {
    const subscription = await requireSubscription(turn.read, id)
    turn.write(webhookDelete, { id })
    if (reason !== null) turn.emit('webhook.disabled', disabled(subscription, reason))
  },
}

export const changeSecret: WebhookCommand<{ id: string; secret: string | null }, Promise<void>> = {
  name: 'webhook.secret',
  async run(turn, { id, secret }) {
    await requireSubscription(turn.read, id)
    turn.write(webhookSecret, { id, secret })
  },
}

export const pauseEndpoint: WebhookCommand<{ endpoint: number; reason: string }, Promise<void>> = {
  name: 'webhook.pause',
  async run(turn, { endpoint, reason }) {
    const all = await listSubscriptions(turn.read)
    const paused = all.filter(subscription => subscription.endpoint === endpoint && subscription.paused === null)
    if (paused.length === 0) return
    turn.write(endpointPause, { num: endpoint, paused: turn.now, reason })
    for (const subscription of paused) turn.emit('webhook.disabled', disabled(subscription, reason))
  },
}

export const resumeWebhook: WebhookCommand<{ id: string }, Promise<void>> = {
  name: 'webhook.resume',
  async run(turn, { id }) {
    const { endpoint } = await requireSubscription(turn.read, id)
    turn.write(endpointPause, { num: endpoint, paused: null, reason: null })
  },
}

export const replayDelivery: WebhookCommand<{ id: string; event: number; n: number }, Promise<void>> = {
  name: 'webhook.replay',
  async run(turn, { id, event, n }) {
    await requireSubscription(turn.read, id)
    const delivery = await findDelivery(turn.read, id, event, n)
    if (delivery?.state !== 'dead') throw new Fault('DeliveryNotFound')
    turn.write(deliveryReplay, { rows: [[event, n]] })
  },
}

export const replayDead: WebhookCommand<{ id: string }, Promise<number>> = {
  name: 'webhook.replay-dead',
  async run(turn, { id }) {
    const { endpoint } = await requireSubscription(turn.read, id)
    const rows = await deadDeliveries(turn.read, endpoint, id, limits.webhook.sweepRowsMax)
    if (rows.length > 0) turn.write(deliveryReplay, { rows })
    return rows.length
  },
}

async function requireSubscription(read: Reader, id: string): Promise<Subscription> {
  const found = (await listSubscriptions(read)).find(subscription => subscription.id === id)
  if (found === undefined) throw new Fault('WebhookNotFound')
  return found
}

function disabled({ id, url, user }: Subscription, reason: string) {
  return { webhook: id, url: withoutSecrets(url), reason, ...(user !== null && { user }) }
}

/** A URL as it may be shown to others: without user and password. */
export function withoutSecrets(url: string): string {
  if (!URL.canParse(url)) return ''
  const parsed = new URL(url)
  parsed.username = ''
  parsed.password = ''
  return parsed.href
}
