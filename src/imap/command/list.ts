// LIST with its extensions, LSUB and STATUS (RFC 9051 6.3.9 to 6.3.11, RFC 5258, 5819, 6154, 8438, 8474).
//
// A name that exists only as the parent of others is listed as `\NonExistent` where a pattern asks for its level.

import { limits } from '#lib/limits.ts'
import { command, loggedIn } from '../command.ts'
import type { Mailbox } from '../mail-store.ts'
import type { Session } from '../session.ts'
import { type Decoder, malformed } from '../wire/decoder.ts'
import { matcher } from '../wire/pattern.ts'

interface ListInput {
  readonly selection: ReadonlySet<string>
  readonly reference: string
  readonly patterns: readonly string[]
  readonly returns: ReadonlySet<string>
  /** Items of RETURN (STATUS (...)). */
  readonly status: readonly string[]
  /** XLIST: as LIST, under its own name. */
  readonly old?: boolean
  /** Old form: one pattern, no options. */
  readonly plain: boolean
}

const selections = new Set(['SUBSCRIBED', 'REMOTE', 'RECURSIVEMATCH', 'SPECIAL-USE'])
/** Those that say something about a folder, and so about those above it (RFC 5258 3.5). */
const criteria = ['SUBSCRIBED', 'SPECIAL-USE']
const returnable = new Set(['SUBSCRIBED', 'CHILDREN', 'SPECIAL-USE', 'STATUS'])
const statusItems = new Set([
  'MESSAGES',
  'RECENT',
  'UIDNEXT',
  'UIDVALIDITY',
  'UNSEEN',
  'DELETED',
  'DELETED-STORAGE',
  'SIZE',
  'HIGHESTMODSEQ',
  'MAILBOXID',
  'APPENDLIMIT',
])

/** Of a name without a folder. Programs that know no more than the old form look for \Noselect (RFC 5258 3). */
const gone = '\\NonExistent \\Noselect'

const list = command({
  name: 'LIST',
  states: loggedIn,
  capabilities: ['LIST-EXTENDED', 'LIST-STATUS', 'CHILDREN', 'SPECIAL-USE'],
  parse: parseList,
  async run(session, input) {
    if (input.plain && input.patterns[0] === '') {
      // RFC 9051 6.3.9: an empty name asks for the delimiter and the root of the reference.
      session.out.line('* LIST (\\Noselect) "/" ""')
      return undefined
    }
    await answerList(session, input)
    return undefined
  },
})

/** What LIST was called in programs from before RFC 6154 that look for special uses; two of them have other names there. */
const xlist = command({
  name: 'XLIST',
  states: loggedIn,
  capabilities: ['XLIST'],
  parse(decoder): ListInput {
    decoder.space()
    const reference = decoder.reference()
    decoder.space()
    const patterns = [decoder.listMailbox()]
    decoder.end()
    return { selection: new Set(), reference, patterns, returns: new Set(), status: [], plain: true, old: true }
  },
  async run(session, input) {
    if (input.patterns[0] === '') session.out.line('* XLIST (\\Noselect) "/" ""')
    else await answerList(session, input)
    return undefined
  },
})

/** Special uses as XLIST names them, beside their names of today. */
const oldUses: Readonly<Record<string, string>> = { '\\Junk': '\\Spam', '\\All': '\\AllMail', '\\Flagged': '\\Starred' }

const lsub = command({
  name: 'LSUB',
  states: loggedIn,
  parse(decoder) {
    decoder.space()
    const reference = decoder.reference()
    decoder.space()
    const pattern = decoder.listMailbox()
    decoder.end()
    return { reference, pattern }
  },
  async run(session, { reference, pattern }) {
    const match = matcher(reference, [pattern], session)
    const folders = await session.mail.folders()
    const left = await leftNames(session, folders)
    const subscribed = [...folders.filter(folder => folder.subscribed).map(folder => folder.path), ...left]
    const names = new Map<string, string>()
    for (const path of subscribed) if (await match(path)) names.set(path, left.has(path) ? gone : '')
    // RFC 3501 6.3.9: with `%` a parent of something subscribed shows up as \Noselect.
    if (pattern.includes('%')) {
      const there = new Set(folders.map(folder => folder.path))
      for (const path of subscribed) {
        for (const parent of parentsOf(path)) {
          if (!names.has(parent) && (await match(parent))) names.set(parent, there.has(parent) ? '\\Noselect' : gone)
        }
      }
    }
    for (const [path, attributes] of names) {
      session.out.line(`* LSUB (${attributes}) "/" ${session.mailboxName(path)}`)
    }
    return undefined
  },
})

const status = command({
  name: 'STATUS',
  states: loggedIn,
  capabilities: ['STATUS=SIZE', 'APPENDLIMIT', 'OBJECTID'],
  parse(decoder) {
    decoder.space()
    const path = decoder.mailbox()
    decoder.space()
    const items = parseStatusItems(decoder)
    decoder.end()
    return { path, items }
  },
  async run(session, { path, items }) {
    const mailbox = await session.mailbox(path)
    countsChanges(session, items)
    session.out.line(await statusLine(session, mailbox, items))
    return undefined
  },
})

export const listCommands = [list, xlist, lsub, status]

function parseList(decoder: Decoder): ListInput {
  decoder.space()
  const selection = new Set<string>()
  let plain = true
  if (decoder.peek() === '(') {
    plain = false
    for (const option of decoder.list(() => decoder.word())) {
      if (!selections.has(option)) throw malformed('Unknown selection option')
      selection.add(option)
    }
    decoder.space()
  }
  // RFC 5258 3: RECURSIVEMATCH alone, or with options that say nothing about the name, makes no sense.
  if (selection.has('RECURSIVEMATCH') && criteria.every(option => !selection.has(option)))
    throw malformed('RECURSIVEMATCH needs SUBSCRIBED or SPECIAL-USE')
  const reference = decoder.reference()
  decoder.space()
  let patterns: string[]
  if (decoder.peek() === '(') {
    plain = false
    patterns = decoder.list(() => decoder.listMailbox(), limits.imap.wildcardsMax)
    if (patterns.length === 0) throw malformed('The list of patterns is empty')
  } else patterns = [decoder.listMailbox()]
  const returns = new Set<string>()
  let items: string[] = []
  if (decoder.more()) {
    plain = false
    decoder.expect('RETURN')
    decoder.space()
    decoder.list(() => {
      const option = decoder.word()
      if (!returnable.has(option)) throw malformed('Unknown return option')
      returns.add(option)
      if (option === 'STATUS') {
        decoder.space()
        items = parseStatusItems(decoder)
      }
    })
  }
  decoder.end()
  // RFC 9051 6.3.9: in the extended form an empty name means nothing.
  if (!plain) patterns = patterns.filter(pattern => pattern !== '')
  return { selection, reference, patterns, returns, status: items, plain }
}

function parseStatusItems(decoder: Decoder): string[] {
  const items = decoder.list(() => {
    const item = decoder.word()
    if (!statusItems.has(item)) throw malformed('Unknown status item')
    return item
  }, statusItems.size)
  if (items.length === 0) throw malformed('The list of status items is empty')
  return items
}

/** Who asks for change numbers goes on counting them (RFC 7162 3.1). */
function countsChanges(session: Session, items: readonly string[]): void {
  if (items.includes('HIGHESTMODSEQ')) session.enable('CONDSTORE')
}

async function answerList(session: Session, input: ListInput): Promise<void> {
  const folders = await session.mail.folders()
  const match = matcher(input.reference, input.patterns, session)
  const { selection } = input
  const asked = criteria.filter(option => selection.has(option))
  const chosen = (folder: Mailbox) =>
    (!selection.has('SUBSCRIBED') || folder.subscribed) && (!selection.has('SPECIAL-USE') || folder.specialUse !== null)
  const wantsNames = selection.has('SUBSCRIBED') || input.returns.has('SUBSCRIBED')
  const left = wantsNames ? await leftNames(session, folders) : new Set<string>()
  const leftChosen = selection.has('SUBSCRIBED') && !selection.has('SPECIAL-USE') ? left : new Set<string>()
  const tree = new Tree(folders, chosen, leftChosen)
  const recursive = selection.has('RECURSIVEMATCH')
  const found = [...folders.filter(chosen).map(({ path }) => path), ...leftChosen]
  const aboveUnlisted = recursive ? await namesAbove(found, async path => !(await match(path))) : new Set<string>()
  const info = ` ("CHILDINFO" (${asked.map(option => `"${option}"`).join(' ')}))`
  countsChanges(session, input.status)
  for (const folder of folders) {
    const below = recursive && (chosen(folder) ? tree.chosenBelow : aboveUnlisted).has(folder.path)
    if (!chosen(folder) && !below) continue
    if (!(await match(folder.path))) continue
    session.out.line(listLine(session, folder, tree, input) + (below ? info : ''))
    // RFC 9051 6.3.9.8: of what is there for others below it, nothing more is told.
    if (input.returns.has('STATUS') && chosen(folder)) session.out.line(await statusLine(session, folder, input.status))
    await session.out.room()
  }
  // RFC 9051 6.3.9: what is subscribed to is listed whether it is there or not.
  for (const path of new Set([...leftChosen, ...tree.missing])) {
    const below = recursive && (leftChosen.has(path) ? tree.chosenBelow : aboveUnlisted).has(path)
    const wanted = asked.length === 0 || below || leftChosen.has(path)
    if (!wanted || !(await match(path))) continue
    const attributes = [gone]
    if (tree.parents.has(path)) attributes.push('\\HasChildren')
    if (left.has(path)) attributes.push('\\Subscribed')
    const name = session.mailboxName(path)
    session.out.line(`* ${input.old ? 'XLIST' : 'LIST'} (${attributes.join(' ')}) "/" ${name}${below ? info : ''}`)
  }
}

/** Names above those that a client is not told of: to name them for others says nothing new (RFC 9051 6.3.9.6). */
async function namesAbove(
  paths: readonly string[],
  unlisted: (path: string) => Promise<boolean>,
): Promise<ReadonlySet<string>> {
  const names = new Set<string>()
  for (const path of paths) if (await unlisted(path)) for (const parent of parentsOf(path)) names.add(parent)
  return names
}

/** Names the account is subscribed to although there is no such folder. */
export async function leftNames(session: Session, folders: readonly Mailbox[]): Promise<ReadonlySet<string>> {
  const names = new Set(await session.mail.subscriptions())
  for (const { path } of folders) names.delete(path)
  return names
}

/**
 * The LIST response of one folder, as SELECT gives it in IMAP4rev2 (RFC 9051 6.3.2).
 *
 * @param old another name the client has for it
 */
export async function listResponse(session: Session, folder: Mailbox, old?: string): Promise<string> {
  const input = { selection: new Set<string>(), returns: new Set<string>(), plain: true }
  return listLine(session, folder, new Tree(await session.mail.folders()), input) + oldName(session, old)
}

/** A client of IMAP4rev2 is told by which name it finds a folder that it has named in another form (RFC 9051 6.3.4, 6.3.6). */
export async function tellNormal(session: Session, path: string, denormal: string | undefined): Promise<void> {
  if (denormal === undefined || !session.rev2) return
  const folder = await session.mail.folderAt(path)
  if (folder !== undefined) session.out.line(await listResponse(session, folder, denormal))
}

/** RFC 9051 6.3.9.7. */
function oldName(session: Session, name: string | undefined): string {
  return name === undefined ? '' : ` ("OLDNAME" (${session.mailboxName(name)}))`
}

/**
 * LIST responses that nobody asked for (RFC 5465 5.4, 5.5): folders that came, were renamed or (un)subscribed, and paths
 * where there is none any more.
 */
export function noticeLines(
  session: Session,
  folders: readonly Mailbox[],
  changes: readonly { readonly folder: Mailbox; readonly from: string | undefined }[],
  left: readonly string[],
): string[] {
  const tree = new Tree(folders)
  const input = { selection: new Set<string>(), returns: new Set(['SUBSCRIBED']), plain: false }
  return [
    ...left.map(path => {
      return `* LIST (${gone}${tree.parents.has(path) ? ' \\HasChildren' : ''}) "/" ${session.mailboxName(path)}`
    }),
    ...changes.map(({ folder, from }) => listLine(session, folder, tree, input) + oldName(session, from)),
  ]
}

function listLine(
  session: Session,
  folder: Mailbox,
  tree: Tree,
  input: Pick<ListInput, 'selection' | 'returns' | 'plain' | 'old'>,
): string {
  const { selection, returns } = input
  const attributes: string[] = []
  attributes.push(tree.parents.has(folder.path) ? '\\HasChildren' : '\\HasNoChildren')
  if (folder.subscribed && (selection.has('SUBSCRIBED') || returns.has('SUBSCRIBED'))) attributes.push('\\Subscribed')
  if (folder.specialUse !== null) attributes.push(folder.specialUse)
  if (input.old === true) {
    const use = folder.path === 'INBOX' ? '\\Inbox' : oldUses[folder.specialUse ?? '']
    if (use !== undefined) attributes.push(use)
  }
  return `* ${input.old ? 'XLIST' : 'LIST'} (${attributes.join(' ')}) "/" ${session.mailboxName(folder.path)}`
}

/** The STATUS response of a folder. */
export async function statusLine(session: Session, mailbox: Mailbox, items: readonly string[]): Promise<string> {
  const values: string[] = []
  for (const item of items) values.push(`${item} ${await statusValue(session, mailbox, item)}`)
  return `* STATUS ${session.mailboxName(mailbox.path)} (${values.join(' ')})`
}

async function statusValue(session: Session, mailbox: Mailbox, item: string): Promise<string | number> {
  switch (item) {
    case 'MESSAGES':
      return mailbox.total
    case 'RECENT':
      return recentIn(session, mailbox)
    case 'UIDNEXT':
      return mailbox.uidNext
    case 'UIDVALIDITY':
      return mailbox.uidValidity
    case 'UNSEEN':
      return mailbox.unseen
    case 'DELETED':
      return (await session.mail.messages(mailbox.num).deleted()).count
    case 'DELETED-STORAGE':
      return (await session.mail.messages(mailbox.num).deleted()).size
    case 'SIZE':
      return mailbox.size
    case 'HIGHESTMODSEQ':
      return mailbox.modseq
    case 'MAILBOXID':
      return `(${mailbox.id})`
    case 'APPENDLIMIT':
      return session.services.messageBytesMax
    default:
      return 0
  }
}

/** Messages nobody was told of, and those this session was the first to be told of. */
async function recentIn({ view, mail, rev2 }: Session, { num, uidNext }: Mailbox): Promise<number> {
  if (rev2) return 0
  const own = view?.num === num && !view.readOnly ? view.recentCount : 0
  return own + (await mail.messages(num).countBetween(await mail.recentFrom(num), uidNext))
}

/** Which names have others below them, and which are only there because of those. */
class Tree {
  readonly parents = new Set<string>()
  readonly missing = new Set<string>()
  /** Those above folders that are asked for. */
  readonly chosenBelow = new Set<string>()

  /** @param left names that are asked for without a folder */
  constructor(
    folders: readonly Mailbox[],
    chosen: (folder: Mailbox) => boolean = () => false,
    left: Iterable<string> = [],
  ) {
    const there = new Set(folders.map(folder => folder.path))
    for (const folder of folders) {
      for (const parent of parentsOf(folder.path)) {
        if (!there.has(parent)) this.missing.add(parent)
        this.parents.add(parent)
        if (chosen(folder)) this.chosenBelow.add(parent)
      }
    }
    for (const path of left) {
      for (const parent of parentsOf(path)) {
        if (!there.has(parent)) this.missing.add(parent)
        this.chosenBelow.add(parent)
      }
    }
  }
}

function* parentsOf(path: string): Generator<string> {
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) yield path.slice(0, at)
}
