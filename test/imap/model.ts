// A small model of mailboxes and of what each session has been told, driven with random commands against a real service:
// every untagged answer is predicted and compared.
//
// The model keeps sets where the service keeps change numbers, so the two agree only when the rules are right: sequence
// numbers stay true, expunges wait for commands that allow them, each change is told once and to everybody else. Who asked
// for it by NOTIFY is told without a command, and what nobody asked for does not come.

import { limits } from '#lib/limits.ts'
import { Random } from '../fuzz/random.ts'
import { append, Client, mail } from './client.ts'
import {
  Folder,
  inTime,
  type Member,
  type Message,
  numberSet,
  order,
  sameSet,
  shown,
  text,
  type View,
} from './model-folder.ts'
import { wishes } from './wishes.ts'

const flagNames = [...order, '$One', '$Two']
const crowded = 100
const folderNames = ['INBOX', 'Other', 'Third']

export interface Step {
  readonly command: string
  readonly expected: readonly string[]
  readonly got: readonly string[]
}

/** A run against one account; `steps` keeps what was said, for the report of a failure. */
export class Model {
  readonly #random: Random
  readonly #folders = new Map(folderNames.map(name => [name, new Folder(name)]))
  readonly #members: Member[] = []
  #change = 1
  #subject = 0
  readonly steps: Step[] = []

  constructor(seed: number) {
    this.#random = new Random(seed)
  }

  async open(at: { host: string; port: number }, user: string, sessions: number): Promise<void> {
    for (let count = 0; count < sessions; count++) {
      const client = await Client.login(at, user)
      const qresync = this.#random.chance(0.4)
      if (qresync) await client.ok('ENABLE QRESYNC')
      this.#members.push({ client, qresync, view: undefined, wish: undefined, changed: new Map() })
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
      ...(this.#random.chance(0.4) ? [this.#notify] : []),
      ...(view === undefined ? [this.#select] : harmless),
      ...(view === undefined || view.readOnly ? [] : writable),
    ]
    await this.#random.pick(choices).call(this, member)
    for (const other of this.#members) await this.#hear(other)
  }

  /** What a session is told without a command. */
  async #hear(member: Member): Promise<void> {
    const { client, wish, changed } = member
    if (wish === undefined) {
      changed.clear()
      return
    }
    const expected = this.#sync(member, wish.selected?.delayed === false, false)
    const got: string[] = []
    while (got.length < expected.length) {
      const line = await inTime(client.line())
      if (line === undefined) break
      got.push(...shown([line]))
    }
    this.#compare({ command: `(without a command, after ${wish.command})`, expected, got })
  }

  async #ask(member: Member, command: string | Buffer, expected: string[], status = 'OK'): Promise<void> {
    const answer = await member.client.ask(command)
    const name = command.toString().split('\r\n')[0] ?? ''
    const got = [...shown(answer.lines), answer.status]
    this.#compare({ command: `${this.#members.indexOf(member)}: ${name}`, expected: [...expected, status], got })
  }

  #compare(step: Step): void {
    this.steps.push(step)
    const { expected, got } = step
    if (JSON.stringify(got) === JSON.stringify(expected)) return
    const recent = this.steps.slice(-12).map(one => `  ${one.command}\n    ${one.got.join('\n    ')}`)
    throw new Error(`expected\n  ${expected.join('\n  ')}\ngot\n  ${got.join('\n  ')}\nafter\n${recent.join('\n')}`)
  }

  /** Some messages of a folder came, went or changed: everybody may want to know. */
  #touch(folder: Folder, kind: 'messages' | 'flags'): void {
    for (const { view, changed } of this.#members) {
      if (view?.folder === folder) continue
      const before = changed.get(folder) ?? { messages: false, flags: false }
      changed.set(folder, { ...before, [kind]: true })
    }
  }

  /** What a session is told at the end of a command. */
  #sync(member: Member, expunge: boolean, answers = true): string[] {
    const { wish, changed, view, qresync } = member
    const lines = wish !== undefined && wish.selected === undefined ? [] : this.#tell(member, expunge)
    const numbered = answers || (wish?.selected !== undefined && view?.counted === true)
    for (const folder of this.#folders.values()) {
      const { messages, flags } = changed.get(folder) ?? { messages: false, flags: false }
      if ((messages && wish?.messages === true) || (flags && wish?.flags === true)) lines.push(folder.status)
    }
    changed.clear()
    // Numbers were told and messages that went were not: what the client may rely on is told, too.
    const holding = view?.uids.some(uid => view.folder.at(uid) === undefined) === true
    if (qresync && !expunge && numbered && holding) lines.push('* OK [HIGHESTMODSEQ')
    return lines
  }

  /** The same after a session took messages away itself, which it is told whatever it wants to hear. */
  #syncOwn(member: Member): string[] {
    return [...this.#tell(member, true), ...this.#sync(member, true)]
  }

  /** What a view is told. */
  #tell({ view, wish, qresync }: Member, expunge: boolean): string[] {
    if (view === undefined) return []
    const lines: string[] = []
    if (expunge && qresync) {
      const gone = view.uids.filter(uid => view.folder.at(uid) === undefined)
      view.uids = view.uids.filter(uid => !gone.includes(uid))
      if (gone.length > 0) lines.push(`* VANISHED ${numberSet(gone)}`)
    }
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
      for (const { uid, flags } of wish?.selected?.items === true ? fresh : []) {
        lines.push(`* ${view.uids.indexOf(uid) + 1} FETCH (UID ${uid} FLAGS (${text(flags)}))`)
      }
    }
    const changed = view.folder.messages
      .filter(message => message.uid < known && message.change > view.told && !view.own.has(message.change))
      .sort((left, right) => left.change - right.change || left.uid - right.uid)
    const told = wish?.selected?.flags === false ? [] : changed
    const described = wish?.selected?.items === true && fresh.length > 0
    view.counted = described || told.some(message => view.uids.includes(message.uid))
    for (const message of told) {
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

  async #notify(member: Member): Promise<void> {
    const wish = this.#random.pick(wishes)
    // What has gathered is told whatever is wanted from now on.
    const lines = this.#tell(member, true)
    member.wish = wish
    member.changed.clear()
    await this.#ask(member, wish.command, lines)
  }

  async #append(member: Member): Promise<void> {
    const name = this.#random.pick(folderNames)
    const flags = this.#random.chance(0.5) ? this.#random.some(flagNames) : []
    const folder = this.#folder(name)
    folder.add(flags, ++this.#change)
    this.#touch(folder, 'messages')
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
    member.view = {
      name,
      folder,
      readOnly,
      uids,
      uidNext: folder.uidNext,
      told: this.#change,
      own: new Set(),
      counted: false,
    }
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
        this.#touch(view.folder, 'flags')
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
    let gone = false
    for (const uid of uids) {
      const message = view.folder.at(uid)
      gone ||= message === undefined
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
        this.#touch(view.folder, 'flags')
      }
      ;(differs ? changed : same).push(`* ${seq} FETCH (UID ${uid} FLAGS (${text(message.flags)}))`)
    }
    const counted = changed.map(line => line.replace(/ FLAGS \(.*\)\)$/, ')'))
    const lines = silent ? (member.qresync ? counted : []) : [...changed, ...same]
    lines.push(...this.#sync(member, byUid))
    const item = `${sign}FLAGS${silent ? '.SILENT' : ''}`
    const status = gone && !byUid && !silent ? 'NO' : 'OK'
    await this.#ask(member, `${byUid ? 'UID ' : ''}STORE ${set} ${item} (${flags.join(' ')})`, lines, status)
  }

  async #expunge(member: Member): Promise<void> {
    const { view } = member
    if (view === undefined) return
    const known = view.uidNext
    this.#take(view.folder, message => message.uid < known && message.flags.has('\\Deleted'))
    await this.#ask(member, 'EXPUNGE', this.#syncOwn(member))
  }

  async #uidExpunge(member: Member): Promise<void> {
    const { view } = member
    if (view === undefined || view.uids.length === 0) return
    const uids = this.#random.some(view.uids)
    this.#take(view.folder, message => uids.includes(message.uid) && message.flags.has('\\Deleted'))
    await this.#ask(member, `UID EXPUNGE ${uids.join(',')}`, this.#syncOwn(member))
  }

  #take(folder: Folder, gone: (message: Message) => boolean): void {
    const left = folder.messages.filter(message => !gone(message))
    if (left.length === folder.messages.length) return
    this.#change += 1
    folder.messages = left
    this.#touch(folder, 'messages')
  }

  async #copy(member: Member): Promise<void> {
    const chosen = this.#set(member)
    if (chosen === undefined) return
    const { view, byUid, set, uids } = chosen
    const target = this.#random.pick(folderNames)
    // Copies of copies would fill the account.
    if (this.#folder(target).messages.length + uids.length > 2 * crowded) return
    const none = !byUid && uids.some(uid => view.folder.at(uid) === undefined)
    for (const uid of none ? [] : uids) {
      const message = view.folder.at(uid)
      if (message === undefined) continue
      this.#folder(target).add(message.flags, ++this.#change)
      this.#touch(this.#folder(target), 'messages')
    }
    const status = none ? 'NO' : 'OK'
    await this.#ask(member, `${byUid ? 'UID ' : ''}COPY ${set} ${target}`, this.#sync(member, byUid), status)
  }

  async #move(member: Member): Promise<void> {
    const chosen = this.#set(member)
    if (chosen === undefined) return
    const { view, byUid, set, uids } = chosen
    const target = this.#random.pick(folderNames.filter(name => name !== view.name))
    const folder = this.#folder(target)
    // More than that is moved and told in several pieces.
    if (folder.messages.length + uids.length > limits.imap.unitMessages) return
    const from: number[] = []
    const to: number[] = []
    for (const uid of uids) {
      const message = view.folder.at(uid)
      if (message === undefined) continue
      from.push(uid)
      to.push(folder.add(message.flags, ++this.#change))
    }
    this.#take(view.folder, message => from.includes(message.uid))
    if (to.length > 0) this.#touch(folder, 'messages')
    const code = from.length === 0 ? [] : [`COPYUID ${numberSet(from)} ${numberSet(to)}`]
    await this.#ask(member, `${byUid ? 'UID ' : ''}MOVE ${set} ${target}`, [...code, ...this.#syncOwn(member)])
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
