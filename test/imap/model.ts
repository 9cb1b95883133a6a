// A small model of mailboxes and of what each session has been told, driven with random commands against a real service:
// every untagged answer is predicted and compared.
//
// The model keeps sets where the service keeps change numbers, so the two agree only when the rules are right: sequence
// numbers stay true, expunges wait for commands that allow them, each change is told once and to everybody else.

import { Random } from '../fuzz/random.ts'
import { append, Client, mail } from './client.ts'

interface Message {
  readonly uid: number
  flags: Set<string>
  /** When it changed last, and by which command. */
  change: number
}

class Folder {
  uidNext = 1
  messages: Message[] = []

  at(uid: number): Message | undefined {
    return this.messages.find(message => message.uid === uid)
  }

  add(flags: Iterable<string>, change: number): number {
    const uid = this.uidNext++
    this.messages.push({ uid, flags: new Set(flags), change })
    return uid
  }
}

interface View {
  readonly name: string
  readonly folder: Folder
  readonly readOnly: boolean
  /** Uids in the order the client knows. */
  uids: number[]
  uidNext: number
  /** Changes up to this one are told. */
  told: number
  /** Changes of its own that the answer told. */
  readonly own: Set<number>
}

interface Member {
  readonly client: Client
  view: View | undefined
}

const order = ['\\Seen', '\\Answered', '\\Flagged', '\\Deleted', '\\Draft']
const flagNames = [...order, '$One', '$Two']
const folderNames = ['INBOX', 'Other', 'Third']

export interface Step {
  readonly command: string
  readonly expected: readonly string[]
  readonly got: readonly string[]
}

/** A run against one account; `steps` keeps what was said, for the report of a failure. */
export class Model {
  readonly #random: Random
  readonly #folders = new Map(folderNames.map(name => [name, new Folder()]))
  readonly #members: Member[] = []
  #change = 1
  #subject = 0
  readonly steps: Step[] = []

  constructor(seed: number) {
    this.#random = new Random(seed)
  }

  async open(at: { host: string; port: number }, user: string, sessions: number): Promise<void> {
    for (let count = 0; count < sessions; count++) {
      this.#members.push({ client: await Client.login(at, user), view: undefined })
    }
    for (const name of folderNames.slice(1)) await this.#members[0]?.client.ok(`CREATE ${name}`)
  }

  close(): void {
    for (const { client } of this.#members) client.close()
  }

  /** One random command of one random session. @throws when the answer is not the predicted one */
  async step(): Promise<void> {
    const member = this.#random.pick(this.#members)
    const { view } = member
    const writable = [this.#store, this.#store, this.#store, this.#expunge, this.#uidExpunge, this.#move]
    const harmless = [this.#fetch, this.#fetch, this.#search, this.#copy, this.#noop, this.#noop, this.#body]
    const choices = [
      this.#append,
      this.#append,
      this.#select,
      ...(view === undefined ? [this.#select] : harmless),
      ...(view === undefined || view.readOnly ? [] : writable),
    ]
    await this.#random.pick(choices).call(this, member)
  }

  async #ask(member: Member, command: string | Buffer, expected: string[], status = 'OK'): Promise<void> {
    const answer = await member.client.ask(command)
    const got = answer.lines.filter(
      line => !/^\* (FLAGS|OK \[PERMANENTFLAGS|0 RECENT)/.test(line) && !/ RECENT$/.test(line),
    )
    const step = { command: command.toString().split('\r\n')[0] ?? '', expected, got }
    this.steps.push(step)
    if (answer.status !== status || JSON.stringify(got) !== JSON.stringify(expected)) {
      const recent = this.steps.slice(-12).map(one => `  ${one.command}\n    ${one.got.join('\n    ')}`)
      throw new Error(
        `expected ${status}\n  ${expected.join('\n  ')}\ngot ${answer.status} ${answer.text}\n  ${got.join('\n  ')}\nafter\n${recent.join('\n')}`,
      )
    }
  }

  /** What a view is told at the end of a command. */
  #sync({ view }: Member, expunge: boolean): string[] {
    if (view === undefined) return []
    const lines: string[] = []
    if (expunge) {
      for (let at = 0; at < view.uids.length; ) {
        if (view.folder.at(view.uids[at] as number) === undefined) {
          lines.push(`* ${at + 1} EXPUNGE`)
          view.uids.splice(at, 1)
        } else at += 1
      }
    }
    const known = view.uidNext
    const fresh = view.folder.messages.filter(message => message.uid >= known)
    if (fresh.length > 0) {
      view.uids.push(...fresh.map(message => message.uid))
      view.uidNext = (fresh.at(-1)?.uid ?? 0) + 1
      lines.push(`* ${view.uids.length} EXISTS`)
    }
    const changed = view.folder.messages
      .filter(message => message.uid < known && message.change > view.told && !view.own.has(message.change))
      .sort((left, right) => left.change - right.change || left.uid - right.uid)
    for (const message of changed) {
      const seq = view.uids.indexOf(message.uid) + 1
      if (seq > 0) lines.push(`* ${seq} FETCH (UID ${message.uid} FLAGS (${text(message.flags)}))`)
    }
    view.told = this.#change
    view.own.clear()
    return lines
  }

  async #noop(member: Member): Promise<void> {
    await this.#ask(member, 'NOOP', this.#sync(member, true))
  }

  async #append(member: Member): Promise<void> {
    const name = this.#random.pick(folderNames)
    const flags = this.#random.chance(0.5) ? this.#random.some(flagNames) : []
    this.#folder(name).add(flags, ++this.#change)
    this.#subject += 1
    await this.#ask(member, append(name, mail(`s${this.#subject}`), flags.join(' ')), this.#sync(member, true))
  }

  async #select(member: Member): Promise<void> {
    const name = this.#random.pick(folderNames)
    const readOnly = this.#random.chance(0.2)
    const folder = this.#folder(name)
    const answer = await member.client.ok(`${readOnly ? 'EXAMINE' : 'SELECT'} ${name}`)
    const exists = Number(/\* (\d+) EXISTS/.exec(answer.join('\n'))?.[1])
    if (exists !== folder.messages.length) throw new Error(`${name} has ${folder.messages.length}, told ${exists}`)
    const uids = folder.messages.map(message => message.uid)
    member.view = { name, folder, readOnly, uids, uidNext: folder.uidNext, told: this.#change, own: new Set() }
  }

  async #fetch(member: Member): Promise<void> {
    const chosen = this.#set(member)
    if (chosen === undefined) return
    const { view, byUid, set, uids } = chosen
    const lines: string[] = []
    let missing = false
    for (const uid of uids) {
      const message = view.folder.at(uid)
      if (message === undefined) missing = true
      else {
        const seq = view.uids.indexOf(uid) + 1
        lines.push(`* ${seq} FETCH (${byUid ? `UID ${uid} ` : ''}FLAGS (${text(message.flags)}))`)
      }
    }
    lines.push(...this.#sync(member, byUid))
    await this.#ask(member, `${byUid ? 'UID ' : ''}FETCH ${set} FLAGS`, lines, missing && !byUid ? 'NO' : 'OK')
  }

  /** Reading a body marks the message seen. */
  async #body(member: Member): Promise<void> {
    const { view } = member
    if (view === undefined || view.uids.length === 0) return
    const uid = this.#random.pick(view.uids)
    const seq = view.uids.indexOf(uid) + 1
    const message = view.folder.at(uid)
    const lines: string[] = []
    if (message !== undefined) {
      let flags = ''
      if (!view.readOnly && !message.flags.has('\\Seen')) {
        message.flags.add('\\Seen')
        message.change = ++this.#change
        view.own.add(message.change)
        flags = ` FLAGS (${text(message.flags)})`
      }
      lines.push(`* ${seq} FETCH (UID ${uid} BODY[HEADER.FIELDS (X-NONE)] {2}\r\n\r\n${flags})`)
    }
    lines.push(...this.#sync(member, true))
    await this.#ask(member, `UID FETCH ${uid} BODY[HEADER.FIELDS (X-NONE)]`, lines)
  }

  async #store(member: Member): Promise<void> {
    const chosen = this.#set(member)
    if (chosen === undefined) return
    const { view, byUid, set, uids } = chosen
    const sign = this.#random.pick(['+', '-', ''])
    const silent = this.#random.chance(0.3)
    const flags = this.#random.some(flagNames)
    const change = this.#change + 1
    const changed: string[] = []
    const same: string[] = []
    for (const uid of uids) {
      const message = view.folder.at(uid)
      if (message === undefined) continue
      const after = new Set(sign === '' ? flags : message.flags)
      if (sign === '+') for (const flag of flags) after.add(flag)
      if (sign === '-') for (const flag of flags) after.delete(flag)
      const seq = view.uids.indexOf(uid) + 1
      const differs = text(after) !== text(message.flags) && !sameSet(after, message.flags)
      if (differs) {
        message.flags = after
        message.change = change
        this.#change = change
        view.own.add(change)
      }
      ;(differs ? changed : same).push(`* ${seq} FETCH (UID ${uid} FLAGS (${text(message.flags)}))`)
    }
    const lines = silent ? [] : [...changed, ...same]
    lines.push(...this.#sync(member, byUid))
    const item = `${sign}FLAGS${silent ? '.SILENT' : ''}`
    await this.#ask(member, `${byUid ? 'UID ' : ''}STORE ${set} ${item} (${flags.join(' ')})`, lines)
  }

  async #expunge(member: Member): Promise<void> {
    const { view } = member
    if (view === undefined) return
    this.#change += 1
    const known = view.uidNext
    view.folder.messages = view.folder.messages.filter(
      message => message.uid >= known || !message.flags.has('\\Deleted'),
    )
    await this.#ask(member, 'EXPUNGE', this.#sync(member, true))
  }

  async #uidExpunge(member: Member): Promise<void> {
    const { view } = member
    if (view === undefined || view.uids.length === 0) return
    const uids = this.#random.some(view.uids)
    this.#change += 1
    view.folder.messages = view.folder.messages.filter(
      message => !uids.includes(message.uid) || !message.flags.has('\\Deleted'),
    )
    await this.#ask(member, `UID EXPUNGE ${uids.join(',')}`, this.#sync(member, true))
  }

  async #copy(member: Member): Promise<void> {
    const chosen = this.#set(member)
    if (chosen === undefined) return
    const { view, byUid, set, uids } = chosen
    const target = this.#random.pick(folderNames)
    for (const uid of uids) {
      const message = view.folder.at(uid)
      if (message !== undefined) this.#folder(target).add(message.flags, ++this.#change)
    }
    await this.#ask(member, `${byUid ? 'UID ' : ''}COPY ${set} ${target}`, this.#sync(member, byUid))
  }

  async #move(member: Member): Promise<void> {
    const chosen = this.#set(member)
    if (chosen === undefined) return
    const { view, byUid, set, uids } = chosen
    const target = this.#random.pick(folderNames.filter(name => name !== view.name))
    const folder = this.#folder(target)
    const from: number[] = []
    const to: number[] = []
    for (const uid of uids) {
      const message = view.folder.at(uid)
      if (message === undefined) continue
      from.push(uid)
      to.push(folder.add(message.flags, ++this.#change))
    }
    this.#change += 1
    view.folder.messages = view.folder.messages.filter(message => !from.includes(message.uid))
    const code = from.length === 0 ? [] : [`COPYUID ${numberSet(from)} ${numberSet(to)}`]
    const expected = [...code, ...this.#sync(member, true)]
    const answer = await member.client.ask(`${byUid ? 'UID ' : ''}MOVE ${set} ${target}`)
    const got = answer.lines
      .filter(line => !/^\* (FLAGS|OK \[PERMANENTFLAGS|0 RECENT)/.test(line))
      .map(line => line.replace(/^\* OK \[COPYUID \d+ (\S+) (\S+)\].*/, 'COPYUID $1 $2'))
    this.steps.push({ command: `MOVE ${set} ${target}`, expected, got })
    if (answer.status !== 'OK' || JSON.stringify(got) !== JSON.stringify(expected)) {
      throw new Error(`MOVE ${set}: expected\n  ${expected.join('\n  ')}\ngot\n  ${got.join('\n  ')}`)
    }
  }

  async #search(member: Member): Promise<void> {
    const { view } = member
    if (view === undefined) return
    const flag = this.#random.pick(['SEEN', 'DELETED', 'FLAGGED', 'ANSWERED', 'DRAFT', 'KEYWORD $One'])
    const name = flag.startsWith('KEYWORD') ? '$One' : `\\${flag[0]}${flag.slice(1).toLowerCase()}`
    const not = this.#random.chance(0.4)
    const byUid = this.#random.chance(0.5)
    const found = view.uids.filter(uid => {
      const message = view.folder.at(uid)
      return message !== undefined && message.flags.has(name) !== not
    })
    const numbers = found.map(uid => (byUid ? uid : view.uids.indexOf(uid) + 1))
    const line = ['* SEARCH', ...numbers].join(' ')
    const command = `${byUid ? 'UID ' : ''}SEARCH ${not ? 'NOT ' : ''}${flag}`
    await this.#ask(member, command, [line, ...this.#sync(member, byUid)])
  }

  /** Some messages of the view, as a set of one kind or the other. */
  #set(member: Member): { view: View; byUid: boolean; set: string; uids: number[] } | undefined {
    const { view } = member
    if (view === undefined || view.uids.length === 0) return undefined
    const byUid = this.#random.chance(0.5)
    if (this.#random.chance(0.3)) return { view, byUid, set: '1:*', uids: [...view.uids] }
    const uids = this.#random.some(view.uids)
    const set = numberSet(uids.map(uid => (byUid ? uid : view.uids.indexOf(uid) + 1)))
    return { view, byUid, set, uids }
  }

  #folder(name: string): Folder {
    const folder = this.#folders.get(name)
    if (folder === undefined) throw new Error(`no folder ${name}`)
    return folder
  }
}

function sameSet(left: ReadonlySet<string>, right: ReadonlySet<string>): boolean {
  return left.size === right.size && [...left].every(item => right.has(item))
}

/** System flags in their order, then keywords as they came. */
function text(flags: ReadonlySet<string>): string {
  return [...order.filter(flag => flags.has(flag)), ...[...flags].filter(flag => !flag.startsWith('\\'))].join(' ')
}

function numberSet(numbers: readonly number[]): string {
  const parts: string[] = []
  let from = 0
  for (const [at, number] of numbers.entries()) {
    if (at === 0 || number !== (numbers[at - 1] as number) + 1) from = number
    if (numbers[at + 1] !== number + 1) parts.push(from === number ? String(from) : `${from}:${number}`)
  }
  return parts.join(',')
}
