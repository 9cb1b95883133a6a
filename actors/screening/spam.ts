// How much speaks for spam of a message that comes in for one account, as named parts that add up to the score which the
// account's spamLevel is held against (api-semantics 10.5): what was found of its origin, what other programs said
// (scanning.ts), whom the account knows, and what was learned from what it moved into and out of Junk.
//
// Promises: never refuses, never throws, waits limits.spam.totalMs at most: a part that cannot be had is left out. What was
// learned moves nothing by itself before limits.spam.matureMin messages of each kind.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { normalizeAddress } from '#mail/address/address.ts'
import type { SpamText } from '#mail/spam/features.ts'
import type { Pools } from '#pool'
import { isKnown } from '#store/accounts/address-book.ts'
import type { User } from '#store/accounts/users.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Changes } from '#store/engine/watched.ts'
import type { SpamPart } from '#store/mailboxes/messages.ts'
import { Recent } from '#store/mailboxes/recent.ts'
import { baseModel, experienceOf, type SpamExperience } from '#store/rules/spam.ts'
import { sendersOf } from '../delivery/address-book.ts'
import type { Arriving } from '../delivery/rules.ts'
import { featuresIn } from './said.ts'
import { SpamModels } from './spam-models.ts'

export interface SpamOptions {
  readonly read: Reader
  readonly pool: Pools['spam']
  /** Whether what was learned counts. */
  readonly classifies: boolean
  /** A model that changed is read anew. */
  readonly changes: Changes
  readonly log: Log
}

/** Points for a sender whom the account knows by what it did itself, where he proved to be himself. */
const knownPoints = -10
/** Of what was learned: for each unit of log odds, and at most. */
const points = { perUnit: 10, most: 75, least: -20, immature: 20 } as const

export class SpamJudge {
  readonly #options: SpamOptions
  readonly #models: SpamModels
  readonly #experiences: Recent<SpamExperience | undefined>

  constructor(options: SpamOptions) {
    this.#options = options
    this.#models = new SpamModels(options.pool)
    this.#experiences = new Recent(() => options.changes.of('spam_model'))
  }

  /** The message with its score for this account. */
  async judge(message: Arriving, account: User, source: string, said: () => Promise<SpamText>): Promise<Arriving> {
    if (source === 'submission') return message
    const parts: SpamPart[] = [...(message.found ?? [])]
    if (message.score > 0) parts.push({ name: 'authentication', score: message.score })
    const known = await this.#known(message, account)
    if (known !== undefined) parts.push(known)
    const content = await this.#content(account, said)
    if (content !== undefined) {
      const { mature, ...part } = content
      const others = parts.some(({ score }) => score > 0)
      // It adds to what others found, and is only shown where nobody did.
      const alone = !mature && !others && part.score > 0
      parts.push(alone ? { ...part, score: 0, info: `${part.info}; not counted alone` } : part)
    }
    if (parts.length === 0) return message
    const sum = parts.reduce((total, { score }) => total + score, 0)
    const score = Math.min(100, Math.max(0, Math.round(sum)))
    return { ...message, score, spam: { score, parts } }
  }

  async #known({ header, verification }: Arriving, { num }: User): Promise<SpamPart | undefined> {
    if (typeof verification?.dmarc?.domain !== 'string') return undefined
    const [sender] = sendersOf(header)
    if (sender === undefined) return undefined
    const { key } = normalizeAddress(sender.address)
    return (await isKnown(this.#options.read, num, key))
      ? {
          name: 'correspondent',
          score: knownPoints,
          info: 'the account wrote to him, or said that he is none of the spam',
        }
      : undefined
  }

  #experience(user: number): Promise<SpamExperience | undefined> {
    return this.#experiences.get(String(user), () => experienceOf(this.#options.read, user))
  }

  /** What was learned says of its content. */
  async #content({ num }: User, said: () => Promise<SpamText>): Promise<(SpamPart & { mature: boolean }) | undefined> {
    const { classifies, log } = this.#options
    if (!classifies) return undefined
    const own = await this.#experience(num)
    const base = await this.#experience(baseModel)
    if (total(own) < limits.spam.usefulMin && total(base) < limits.spam.usefulMin) return undefined
    try {
      const features = featuresIn(await said())
      const models = await Promise.all([
        own === undefined ? undefined : this.#models.of(num, own.rev),
        base === undefined ? undefined : this.#models.of(baseModel, base.rev),
      ])
      const [ofOwn = 0, ofBase = 0] = models.map(model => model?.score(features))
      const trust = least(own) / (least(own) + limits.spam.ownHalf)
      const shared = Math.min(1, least(base) / limits.spam.matureMin)
      const odds = trust * ofOwn + (1 - trust) * shared * ofBase
      const mature = least(own) >= limits.spam.matureMin || least(base) >= limits.spam.matureMin
      const most = mature ? points.most : points.immature
      const score = Math.round(Math.min(most, Math.max(points.least, odds * points.perUnit)))
      return { name: 'classifier', score, info: `learned ${own?.spam ?? 0} spam, ${own?.ham ?? 0} ham`, mature }
    } catch (error) {
      if (!(error instanceof Fault)) log.warn({ error }, 'what was learned of spam could not be asked')
      return undefined
    }
  }
}

function total(experience: SpamExperience | undefined): number {
  return experience === undefined ? 0 : experience.spam + experience.ham
}

function least(experience: SpamExperience | undefined): number {
  return experience === undefined ? 0 : Math.min(experience.spam, experience.ham)
}
