// What happens to a message that comes in: spam verdict, filters, forwarding, autoreply (api-semantics 6.4).
//
// Everything is decided before the account's turn and becomes one unit with the message itself. An account without rules
// costs nothing: `has` says so from the row that was read anyway. Compiled filters are kept under the account's `rules`
// number, which every change raises. Whatever goes wrong in here, the message is delivered.

import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { remember } from '#lib/memoize.ts'
import { maskUrl } from '#lib/secret/url-secret.ts'
import { mailboxes, normalizeAddress, splitAddress } from '#mail/address/address.ts'
import { parseAddresses } from '#mail/address/address-list.ts'
import {
  type Ask,
  combine,
  type FilterAction,
  type FilterMail,
  type FilterRule,
  Matcher,
  matched,
} from '#mail/filter/filter.ts'
import { flag } from '#mail/flags.ts'
import type { Header } from '#mail/header/header.ts'
import type { Patterns } from '#pool'
import { listAddresses } from '#store/accounts/address.ts'
import type { User } from '#store/accounts/users.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import { domainVerdict } from '#store/domains/access.ts'
import type { HeldMark } from '#store/domains/mark.ts'
import type { Numbers } from '#store/engine/sequence.ts'
import type { Counters } from '#store/folder/counters.ts'
import type { Settings } from '#store/folder/settings.ts'
import type { MessageMeta, SpamPart, SpamScore } from '#store/mailboxes/messages.ts'
import { type Autoreply, findAutoreply } from '#store/rules/autoreply.ts'
import { type Filter, listFilters } from '#store/rules/filter.ts'
import type { Trace } from '#store/rules/trace.ts'
import type { Actors } from '../kernel/system.ts'
import type { Append, Prepared } from '../mailbox/append.ts'
import { classification, isJunk, spamLevelOf } from '../screening/classification.ts'
import type { VerificationResults } from '../screening/verification.ts'
import type { Outgoing } from '../sending/outgoing.ts'
import { blameFilter } from '../user/rules.ts'
import { type ForwardKeys, type ForwardPlan, planForward, type Trust } from './forward.ts'
import { PatternRunner } from './patterns.ts'
import { planReply, type Reply, unanswered } from './reply.ts'

export interface RulesOptions {
  readonly system: Actors
  readonly sequence: Numbers
  readonly settings: Settings
  readonly bodies: Bodies
  readonly patterns: Patterns
  readonly throttle: Counters
  readonly keys: ForwardKeys
  /** Whether headers that say how a message was judged are put on top of it. */
  readonly classify: boolean
  readonly log: Log
}

/** A message on its way to one or more accounts. */
export interface Arriving {
  readonly prepared: Prepared
  /** Its header, with the lines that came on top of the body. */
  readonly header: Header
  /** Those lines. */
  readonly prefix: string
  /** Envelope sender. */
  readonly from: string
  /** What a scanner made of it, 0 to 100 (api-semantics 10.5). */
  readonly score: number
  /** What other programs said of it. */
  readonly found?: readonly SpamPart[] | undefined
  /** What the score is made of, where it was worked out for one account (spam.ts). */
  readonly spam?: SpamScore
  /** Whether it comes from whom it says, where that was looked at. */
  readonly verification?: VerificationResults | undefined
  /** The mark of its author's domain. */
  readonly bimi?: HeldMark | undefined
  /** What is known of From. */
  readonly trust?: Trust | undefined
  /** What goes on of it is protected as it was (RFC 8689). */
  readonly requireTls?: boolean | undefined
  /** How it came, where somebody brought it. */
  readonly transport?: MessageMeta['transport']
  /** Its plain text; read once, when somebody asks. */
  text(): Promise<string>
  /** What filters see, shared by all recipients. */
  readonly mail: FilterMail
}

export interface Decision {
  readonly to: Append['to']
  readonly flags: number
  /** Nothing is stored. */
  readonly drop: boolean
  /** Header lines for the stored copy. */
  readonly lines: string
  readonly outgoing: readonly Outgoing[]
  readonly forward: ForwardPlan | undefined
  readonly trace: Omit<Trace, 'stored'>
  /** Puts back what was counted, where the message was not taken after all. */
  undo(): void
  /** When every unit is settled. */
  discard(): Promise<void>
}

interface Compiled {
  readonly version: number
  readonly filters: readonly Filter[]
  readonly matcher: Matcher
  readonly autoreply: Autoreply | undefined
}

const noFilters = new Matcher([])

export class Rules {
  readonly #options: RulesOptions
  readonly #runner: PatternRunner
  /** By id of the account. */
  readonly #compiled = new Map<string, Compiled>()
  /** Filters that were disabled and may still be compiled somewhere. */
  readonly #banned = new Set<string>()

  constructor(options: RulesOptions) {
    this.#options = options
    this.#runner = new PatternRunner(options.patterns, options.log)
  }

  /** Whether anything has to be decided for the account at all, about a message with this score. */
  has({ options, tags }: User, score: number): boolean {
    const { rules, targets } = options
    const junk = spamLevelOf({ options }) <= score
    return rules !== undefined || (targets?.length ?? 0) > 0 || junk || tags.length > 0
  }

  /** Whether headers say how a message was judged. */
  get classifies(): boolean {
    return this.#options.classify
  }

  /** Decides about a message for one account, as whose address `address` it came. */
  async decide(user: User, address: string, arriving: Arriving): Promise<Decision> {
    const compiled = await this.#load(user)
    const { rules, late } = await this.#match(user, address, arriving, compiled)
    const { action, decided } = combine(rules)
    const domain = await this.#domain(user, arriving.header)
    const verdict = verdictOf(domain, action, user, arriving.score)
    const own = await this.#own(user, address, action, compiled)
    const forward = verdict?.spam === true ? undefined : await this.#forward(user, address, arriving, action, own)
    const reply = await this.#reply(user, address, arriving, compiled, own, verdict?.spam === true)
    const names = new Map(compiled.filters.map(({ id, name }) => [id, name]))
    return {
      to: targetOf(action, verdict),
      flags: (action.seen === true ? flag.seen : 0) | (action.flag === true ? flag.flagged : 0),
      drop: action.delete === true,
      lines: this.#options.classify && verdict !== undefined ? classification(verdict) : '',
      outgoing: [...(forward?.outgoing ?? []), ...(reply.outgoing === undefined ? [] : [reply.outgoing])],
      forward,
      trace: {
        from: arriving.from,
        recipient: address,
        messageId: arriving.prepared.messageId,
        filters: rules.map(({ id }) => ({ id, name: names.get(id) ?? null })),
        action,
        decided,
        ...(verdict !== undefined && { verdict }),
        ...(arriving.spam !== undefined && { spam: arriving.spam }),
        ...(forward !== undefined && {
          forward: {
            queueId: null,
            targets: forward.targets.map(({ value }) => maskUrl(value)),
            ...(forward.reason !== undefined && { reason: forward.reason }),
          },
        }),
        ...(reply.reason !== 'off' && {
          autoreply: { queueId: null, ...(reply.reason !== undefined && { reason: reply.reason }) },
        }),
        ...(late.length > 0 && { timedOut: late }),
      },
      undo: () => reply.undo(),
      discard: () => reply.discard(),
    }
  }

  /** Which of these filters match, without blame and without storing anything; asks that took too long are named. */
  async test(
    user: User,
    address: string,
    arriving: Arriving,
    filters: readonly FilterRule[],
  ): Promise<{ rules: FilterRule[]; late: readonly string[] }> {
    const matcher = new Matcher(filters)
    return this.#screen(user, address, arriving, matcher, () => {})
  }

  /** The filters of an account that are in force. */
  async filtersOf(user: User): Promise<readonly Filter[]> {
    return (await this.#load(user)).filters.filter(({ disabled }) => !disabled)
  }

  async #load(user: User): Promise<Compiled> {
    const version = user.options.rules
    if (version === undefined) return { version: 0, filters: [], matcher: noFilters, autoreply: undefined }
    const known = this.#compiled.get(user.id)
    if (known?.version === version) return known
    const { read } = this.#options.system
    const filters = await listFilters(read, user.num)
    const active = filters.filter(({ disabled }) => !disabled)
    const autoreply = await findAutoreply(read, user.num)
    const compiled = { version, filters, matcher: new Matcher(active), autoreply }
    remember(this.#compiled, user.id, compiled, limits.filter.cachedMax)
    return compiled
  }

  #match(user: User, address: string, arriving: Arriving, { matcher }: Compiled) {
    return this.#screen(user, address, arriving, matcher, (filter, ask) => this.#blame(user, filter, ask))
  }

  async #screen(
    user: User,
    address: string,
    arriving: Arriving,
    matcher: Matcher,
    blame: (filter: FilterRule, ask: Ask) => void,
  ): Promise<{ rules: FilterRule[]; late: readonly string[] }> {
    if (matcher.rules.length === 0) return { rules: [], late: [] }
    const text = matcher.wantsText ? await arriving.text() : undefined
    const mail = arriving.mail.for(address, text)
    const screening = matcher.screen(mail)
    if (screening.asks.length === 0) return { rules: matched(matcher, screening, []), late: [] }
    const banned = (ask: Ask) => this.#banned.has(matcher.rules[ask.rule]?.id ?? '')
    const { answers, guilty } = await this.#runner.run(user.id, screening.asks, banned)
    const late = screening.asks.flatMap((ask, at) => (answers[at] === undefined ? [written(ask)] : []))
    for (const at of guilty) {
      const ask = screening.asks[at] as Ask
      const filter = matcher.rules[ask.rule]
      if (filter !== undefined) blame(filter, ask)
    }
    return {
      rules: matched(
        matcher,
        screening,
        answers.map(answer => answer === true),
      ),
      late,
    }
  }

  /** Notes it on the filter, for its owner to see; nobody waits for that. */
  #blame(user: User, filter: FilterRule, ask: Ask): void {
    const { system, log } = this.#options
    const { offencesMax } = limits.filter
    const blamed = { id: filter.id, pattern: written(ask), offencesMax }
    system
      .handle(user.id)
      .run(blameFilter, blamed)
      .then(
        ({ disabled }) => {
          if (!disabled) return
          ban(this.#banned, filter.id)
          log.warn({ user: user.id, filter: filter.id }, 'a filter whose expression takes too long was disabled')
        },
        error => log.warn({ error, filter: filter.id }, 'a filter could not be blamed'),
      )
  }

  /** What the domain lists of the account's tags say of the sender's domain. */
  async #domain({ tags }: User, header: Header): Promise<'allow' | 'block' | null> {
    if (tags.length === 0) return null
    const [sender] = mailboxes(parseAddresses(header.raw('from') ?? header.raw('sender') ?? ''))
    const domain = splitAddress(sender?.address ?? '').domain
    return domain === '' ? null : domainVerdict(this.#options.system.read, tags, domain.toLowerCase())
  }

  /** Keys of the account's addresses, where somebody is going to ask. */
  async #own(user: User, address: string, action: FilterAction, compiled: Compiled): Promise<ReadonlySet<string>> {
    const asked = action.targets !== undefined || user.options.targets?.length || compiled.autoreply?.status === true
    if (!asked) return new Set()
    const addresses = await listAddresses(this.#options.system.read, user.id)
    return new Set([...addresses.map(({ key }) => key), normalizeAddress(address).key])
  }

  async #forward(
    user: User,
    address: string,
    { header, prepared, prefix, from, trust = 'theirs', requireTls }: Arriving,
    action: FilterAction,
    own: ReadonlySet<string>,
  ): Promise<ForwardPlan | undefined> {
    const { throttle, keys, settings } = this.#options
    // What is not kept goes to the targets of the filters alone.
    const targets = [...(action.targets ?? []), ...(action.delete === true ? [] : (user.options.targets ?? []))]
    if (targets.length === 0) return undefined
    const allowed = user.options.limits?.forwards || settings.get('const:max:forwards')
    const { mtaRelay: relay } = user.options
    const request = {
      owner: user.id,
      user: user.id,
      address,
      from,
      header,
      prepared,
      prefix,
      allowed,
      own,
      relay,
      trust,
      requireTls,
      standing: true,
      kept: action.delete !== true,
    }
    return planForward({ ...request, targets: [...new Set(targets)] }, keys, throttle)
  }

  async #reply(
    user: User,
    address: string,
    { header, from, verification, requireTls }: Arriving,
    { autoreply }: Compiled,
    own: ReadonlySet<string>,
    spam: boolean,
  ): Promise<Reply> {
    if (autoreply?.status !== true || user.options.autoreply !== true) return unanswered('off')
    if (spam) return unanswered('spam')
    const { id, start, end } = autoreply
    const form = { ...autoreply, name: autoreply.name || user.name }
    const asked = { owner: user.id, user: user.id, id, form, start, end, address, own, header, from, requireTls }
    return planReply(this.#options, { ...asked, forged: verification?.forgedSender })
  }
}

const bannedMax = 10_000

function ban(set: Set<string>, value: string): void {
  set.add(value)
  const [oldest] = set
  if (set.size > bannedMax && oldest !== undefined) set.delete(oldest)
}

function written({ pattern }: Ask): string {
  return `/${pattern.source}/${pattern.flags}`
}

type Verdict = NonNullable<Trace['verdict']>

/** Domain lists first, unless a filter says otherwise; the account's level where nobody has said anything. */
function verdictOf(
  domain: 'allow' | 'block' | null,
  action: FilterAction,
  user: User,
  score: number,
): Verdict | undefined {
  if (domain !== null) return { spam: domain === 'block', by: 'domain' }
  if (action.spam !== undefined) return { spam: action.spam, by: 'filter' }
  return isJunk(score, spamLevelOf(user)) ? { spam: true, by: 'level' } : undefined
}

/** A folder that a filter names wins over a verdict of filters and lists, not over one of the level (6.4). */
function targetOf(action: FilterAction, verdict: Verdict | undefined): Append['to'] {
  const junk = { specialUse: '\\Junk' }
  if (verdict?.spam === true && verdict.by === 'level') return junk
  if (action.mailbox !== undefined) return { id: action.mailbox, orInbox: true }
  return verdict?.spam === true ? junk : 'INBOX'
}
