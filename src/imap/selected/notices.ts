// What a client wants to be told of without asking (NOTIFY, RFC 5465), and telling what it is not in the view to tell: other
// folders' counters, names and subscriptions.
//
// Changes are not queued: for each folder a bit says what kind of thing happened, and names are compared with those the
// client was last told, so a storm costs no memory. More than limits.imap.notifyFoldersMax at once is an overflow: the
// client hears of that and of nothing more until it registers anew.

import { limits } from '#lib/limits.ts'
import { pathParent } from '#mail/path.ts'
import { noticeLines, statusLine } from '../command/list.ts'
import type { Change, Mailbox } from '../mail-store.ts'
import type { Session, Wishes } from '../session.ts'
import { type EventGroup, type Registration, type SelectedEvents, silence } from './events.ts'

type Wish = 'messages' | 'flags' | 'names' | 'subscriptions'
type Known = Pick<Mailbox, 'path' | 'subscribed'>

const messagesBit = 1
const flagsBit = 2

export class Notices implements Wishes {
  readonly #session: Session
  #registration: Registration
  /** Folder -> bits of what happened in it. */
  readonly #changed = new Map<number, number>()
  /** Folders as the client was last told, by number; kept where it wants to hear of names or subscriptions. */
  #known: Map<number, Known> | undefined
  #named = false

  /** @param folders those there are now */
  constructor(session: Session, registration: Registration, folders: readonly Mailbox[]) {
    this.#session = session
    this.#registration = registration
    const listed = registration.groups.some(group => group.names || group.subscriptions)
    if (listed) this.#known = knownOf(folders)
  }

  get selected(): SelectedEvents | undefined {
    return this.#registration.selected
  }

  /** Whether there is something to tell. */
  get news(): boolean {
    return this.#named || this.#changed.size > 0
  }

  /** Takes note of a change of the account; whether it may concern this client. */
  hear(change: Change): boolean {
    if (this.#registration.groups.length === 0) return false
    if (change.kind === 'mailbox') {
      if (this.#known === undefined) return false
      this.#named = true
      return true
    }
    if (change.kind === 'counters') return false
    // The selected folder's are the view's to tell.
    if (change.mailbox === this.#session.view?.num) return false
    const missed = change.kind === 'missed' ? flagsBit : 0
    const bit = (change.kind === 'flags' ? flagsBit : messagesBit) | missed
    const wish = change.kind === 'flags' ? 'flags' : 'messages'
    if (!this.#registration.groups.some(group => group[wish])) return false
    this.#changed.set(change.mailbox, (this.#changed.get(change.mailbox) ?? 0) | bit)
    return true
  }

  /** Tells the counters of all folders it is to tell about but the selected one (NOTIFY SET STATUS). */
  async status(folders: readonly Mailbox[]): Promise<void> {
    for (const folder of folders) {
      if (folder.num === this.#session.view?.num) continue
      if (this.#wanted(folder, 'messages') || this.#wanted(folder, 'flags')) await this.#tellStatus(folder)
    }
  }

  /** Tells everything that happened since the last time. */
  async tell(): Promise<void> {
    if (!this.news) return
    const changed = new Map(this.#changed)
    const named = this.#named
    this.#changed.clear()
    this.#named = false
    const folders = await this.#session.mail.folders()
    const lines = named ? this.#names(folders) : []
    if (changed.size > limits.imap.notifyFoldersMax || lines.length > limits.imap.notifyFoldersMax) {
      this.#overflow()
      changed.clear()
    } else for (const line of lines) this.#session.out.line(line)
    for (const folder of folders) {
      const bits = changed.get(folder.num) ?? 0
      const told =
        ((bits & messagesBit) !== 0 && this.#wanted(folder, 'messages')) ||
        ((bits & flagsBit) !== 0 && this.#wanted(folder, 'flags'))
      if (told && folder.num !== this.#session.view?.num) await this.#tellStatus(folder)
    }
    await this.#session.out.room()
  }

  /** RFC 5465 5.8. */
  #overflow(): void {
    this.#session.out.line('* OK [NOTIFICATIONOVERFLOW] Too much happens: register for less, or again')
    this.#registration = silence
    this.#known = undefined
  }

  /** RFC 5465 5.1 to 5.3: UIDNEXT and MESSAGES of what comes and goes, UIDVALIDITY and HIGHESTMODSEQ of flags. */
  async #tellStatus(folder: Mailbox): Promise<void> {
    const { out, condstore } = this.#session
    const modseq = condstore || this.#wanted(folder, 'flags') ? ['HIGHESTMODSEQ'] : []
    out.line(await statusLine(this.#session, folder, ['MESSAGES', 'UIDNEXT', 'UIDVALIDITY', 'UNSEEN', ...modseq]))
    await out.room()
  }

  /**
   * RFC 5465 5.4, 5.5: a LIST response for each folder that came, went, was renamed, or (un)subscribed, and for what is
   * right above one that came or went. What a renamed folder took along is not told.
   */
  #names(folders: readonly Mailbox[]): string[] {
    const before = this.#known ?? new Map<number, Known>()
    const now = knownOf(folders)
    this.#known = now
    const renamed = this.#renamed(folders, before)
    const changes: { folder: Mailbox; from: string | undefined }[] = []
    for (const folder of folders) {
      const old = before.get(folder.num)
      const from = renamed.get(folder.path)
      if (from !== undefined && !wentAlong(folder.path, from, renamed)) changes.push({ folder, from })
      else if (old === undefined) {
        if (this.#wanted(folder, 'names')) changes.push({ folder, from: undefined })
      } else if (old.subscribed !== folder.subscribed) {
        // Who wants to hear of subscribed folders hears of one that no longer is.
        const either = this.#wanted(folder, 'subscriptions') || this.#wanted(old, 'subscriptions')
        if (either) changes.push({ folder, from: undefined })
      }
    }
    const gone = [...before].filter(([num]) => !now.has(num)).map(([, old]) => old)
    const left = gone.filter(old => this.#wanted(old, 'names')).map(({ path }) => path)
    const told = new Set([...left, ...changes.map(({ folder }) => folder.path)])
    const came = folders.filter(({ num }) => !before.has(num))
    for (const path of new Set([...gone, ...came].map(one => pathParent(one.path)))) {
      if (path === null || told.has(path)) continue
      const folder = folders.find(one => one.path === path)
      if (!this.#wanted(folder ?? { path, subscribed: false }, 'names')) continue
      if (folder === undefined) left.push(path)
      else changes.push({ folder, from: undefined })
    }
    return noticeLines(this.#session, folders, changes, left)
  }

  /** Folders with other names than before of which the client wants to hear: new path -> old path. */
  #renamed(folders: readonly Mailbox[], before: ReadonlyMap<number, Known>): ReadonlyMap<string, string> {
    const renamed = new Map<string, string>()
    for (const folder of folders) {
      const old = before.get(folder.num)
      if (old === undefined || old.path === folder.path) continue
      if (this.#wanted(folder, 'names') || this.#wanted(old, 'names')) renamed.set(folder.path, old.path)
    }
    return renamed
  }

  #wanted(folder: Known, wish: Wish): boolean {
    let wanted = false
    for (const group of this.#registration.groups) {
      if (!covers(group, folder)) continue
      if (group.none) return false
      wanted ||= group[wish]
    }
    return wanted
  }
}

/** However many paths there are: a client may name a hundred thousand. */
function covers({ which, paths }: EventGroup, { path, subscribed }: Known): boolean {
  if (which === 'all') return true
  if (which === 'subscribed') return subscribed
  if (which === 'mailboxes' || paths.has(path)) return paths.has(path)
  for (let above = pathParent(path); above !== null; above = pathParent(above)) if (paths.has(above)) return true
  return false
}

/** Whether a folder was renamed with one above it. */
function wentAlong(path: string, from: string, renamed: ReadonlyMap<string, string>): boolean {
  for (let above = pathParent(path); above !== null; above = pathParent(above)) {
    const old = renamed.get(above)
    if (old !== undefined && old + path.slice(above.length) === from) return true
  }
  return false
}

function knownOf(folders: readonly Mailbox[]): Map<number, Known> {
  return new Map(folders.map(({ num, path, subscribed }) => [num, { path, subscribed }]))
}
