// The steady load: who delivers, sends, logs in and calls the API, each at changing nodes, until the round is over.
//
// Clients do as real ones do: one that was put off, or had no answer, tries the same message again elsewhere.

import { monotonic, sleep } from '#lib/clock.ts'
import { mailed, messageText, talking } from './clients.ts'
import type { Account, Journal } from './journal.ts'
import { Mover } from './mover.ts'
import type { Up } from './node.ts'
import { Stay } from './stay.ts'
import type { ChaosNode, World } from './world.ts'

/** Small random numbers that a seed reproduces. */
export function chance(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 4_294_967_296
  }
}

export class Load {
  readonly journal: Journal
  readonly random: () => number
  readonly stays: readonly Stay[]
  /** Whether nothing happens that could have a message go out twice. */
  calm = false
  readonly #world: World
  readonly #movers: readonly Mover[]
  #stopped = true
  #round = 0
  #running: Promise<void>[] = []

  constructor(world: World, journal: Journal, seed: number) {
    this.#world = world
    this.journal = journal
    this.random = chance(seed)
    const { accounts } = journal
    const stayed = accounts.slice(0, 2)
    this.stays = stayed.flatMap(account => world.nodes.map(node => new Stay(this, account, node)))
    this.#movers = accounts.slice(0, 3).map(account => new Mover(this, account))
  }

  get stopped(): boolean {
    return this.#stopped
  }

  get round(): number {
    return this.#round
  }

  /** A node that takes clients, which is not always there. */
  async node(wanted?: ChaosNode): Promise<Up> {
    for (;;) {
      if (wanted?.up !== undefined) return wanted.up
      const all = this.#world.nodes.flatMap(({ up }) => up ?? [])
      const one = all[Math.floor(this.random() * all.length)]
      if (one !== undefined) return one
      await sleep(50)
    }
  }

  start(round: number): void {
    this.#round = round
    this.#stopped = false
    const [hot] = this.journal.accounts
    const all = this.journal.accounts
    const workers = [
      ...this.#world.nodes.map((node, at) => this.#deliver(hot as Account, `h${at}`, node)),
      ...all.slice(1).map((account, at) => this.#deliver(account, `d${at}`)),
      ...all.slice(1, 2).map((account, at) => this.#submit(account, `s${at}`)),
      ...all.slice(1, 2).map((account, at) => this.#call(account, `c${at}`)),
      this.#login(),
      ...this.#movers.map(mover => mover.run()),
      ...this.stays.map(stay => stay.run()),
    ]
    this.#running = workers
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#running)
  }

  async pause(): Promise<void> {
    await sleep(50 + this.random() * 200)
  }

  async #deliver(account: Account, mark: string, node?: ChaosNode): Promise<void> {
    for (let at = 0; !this.#stopped; at++) {
      const mail = account.mail(`${mark}-${this.#round}-${at}`, 'delivered')
      const text = messageText(mail.mid, this.random() < 0.1 ? 5000 : 10)
      const commands = ['LHLO here', 'MAIL FROM:<x@example.org>', `RCPT TO:<${account.name}@example.com>`, 'DATA']
      for (let tries = 0; mail.acked === undefined && (tries === 0 || !this.#stopped); tries++) {
        const began = monotonic()
        const came = await mailed(await this.node(tries === 0 ? node : undefined), 'lmtp', commands, text)
        if (came.kind === 'done') account.acknowledged(mail, began)
        else if (came.sent) mail.doubts += 1
        if (came.kind === 'refused') this.journal.found.push(`delivery of ${mail.mid} refused: ${came.said}`)
        if (came.kind !== 'done') this.journal.failed('delivery', `${mail.mid}: ${came.said}`)
        else this.journal.count('delivery')
        await this.pause()
      }
    }
  }

  async #submit({ name }: Account, mark: string): Promise<void> {
    const token = Buffer.from(`\0${name}\0secret of ${name}`).toString('base64')
    const commands = [
      'EHLO here',
      `AUTH PLAIN ${token}`,
      `MAIL FROM:<${name}@example.com>`,
      'RCPT TO:<to@far.test>',
      'DATA',
    ]
    for (let at = 0; !this.#stopped; at++) {
      const mid = `${mark}-${this.#round}-${at}`
      const one = { acked: false, doubts: 0, calm: this.calm }
      this.journal.queued.set(mid, one)
      for (let tries = 0; !one.acked && (tries === 0 || !this.#stopped); tries++) {
        const came = await mailed(await this.node(), 'submission', commands, messageText(mid, 5))
        one.acked = came.kind === 'done'
        if (!one.acked && came.sent) one.doubts += 1
        if (came.kind === 'refused') this.journal.found.push(`submission of ${mid} refused: ${came.said}`)
        if (one.acked) this.journal.count('submission')
        else this.journal.failed('submission', `${mid}: ${came.said}`)
        await this.pause()
      }
      await this.pause()
    }
  }

  async #login(): Promise<void> {
    const { accounts } = this.journal
    while (!this.#stopped) {
      const { name } = accounts[Math.floor(this.random() * accounts.length)] as Account
      try {
        const said = await talking(await this.node(), 'imap', async wire => {
          await wire.line()
          wire.send(`a login ${name} "secret of ${name}"\r\n`)
          for (;;) {
            const line = await wire.line()
            if (line.startsWith('a ')) return line
          }
        })
        if (said.startsWith('a OK')) this.journal.count('login')
        else {
          this.journal.failed('login', said)
          if (!said.includes('[UNAVAILABLE]')) this.journal.found.push(`login of ${name}: ${said}`)
        }
      } catch (error) {
        this.journal.failed('login', String(error))
      }
      await this.pause()
    }
  }

  /** Folders that come and go, a field that changes, messages that are put up. */
  async #call(account: Account, mark: string): Promise<void> {
    for (let at = 0; !this.#stopped; at++) {
      const path = `${mark}-${this.#round}-${at}`
      const way = Math.floor(this.random() * 3)
      if (way === 0) await this.#folder(account, path)
      else if (way === 1) {
        const done = await this.api('field', 'PUT', `/users/${account.id}`, { name: path })
        account.names = done === undefined ? [...account.names, path] : [path]
      } else await this.#upload(account, path)
      await this.pause()
    }
  }

  async #folder(account: Account, path: string): Promise<void> {
    const made = await this.api('folder', 'POST', `/users/${account.id}/mailboxes`, { path })
    const id = made?.id as string | undefined
    const states = new Set<'there' | 'gone'>(id === undefined ? ['there', 'gone'] : ['there'])
    const folder = { path, id, states }
    account.folders.set(path, folder)
    if (id === undefined || this.random() < 0.5) return
    const gone = await this.api('folder', 'DELETE', `/users/${account.id}/mailboxes/${id}`)
    if (gone !== undefined) states.delete('there')
    states.add('gone')
  }

  async #upload(account: Account, mid: string): Promise<void> {
    const mail = account.mail(mid, 'uploaded')
    const raw = messageText(mid, 10)
    const done = await this.api(
      'upload',
      'POST',
      `/users/${account.id}/mailboxes/${await this.#inbox(account)}/messages`,
      { raw },
    )
    if (done === undefined) mail.doubts += 1
    else account.acknowledged(mail, 0)
  }

  readonly #inboxes = new Map<string, string>()

  /** Asked past the nodes, before anything is harmed. */
  async know(): Promise<void> {
    for (const account of this.journal.accounts) await this.#inbox(account)
  }

  async #inbox({ id, name }: Account): Promise<string> {
    const [row] = this.#inboxes.has(name)
      ? []
      : await this.#world.asked<{ id: string }>(
          `SELECT m.id FROM mailbox m JOIN "user" u ON u.num = m."user" WHERE u.id = '${id}' AND m.path = 'INBOX'`,
        )
    if (row !== undefined) this.#inboxes.set(name, row.id)
    return this.#inboxes.get(name) ?? ''
  }

  /** What a call gives; undefined where nobody knows what came of it. */
  async api(what: string, method: string, path: string, body?: object): Promise<Record<string, unknown> | undefined> {
    const { url, rootToken } = await this.node()
    const headers = { 'content-type': 'application/json', 'x-access-token': rootToken }
    const signal = AbortSignal.timeout(20_000)
    try {
      const response = await fetch(url + path, { method, headers, signal, ...(body && { body: JSON.stringify(body) }) })
      const said = (await response.json()) as Record<string, unknown>
      if (response.status === 200) {
        this.journal.count(what)
        return said
      }
      this.journal.failed(what, `${path}: ${response.status} ${JSON.stringify(said)}`)
      if (response.status < 500)
        this.journal.found.push(`${method} ${path}: ${response.status} ${JSON.stringify(said)}`)
    } catch (error) {
      this.journal.failed(what, `${path}: ${error}`)
    }
    return undefined
  }
}
