// Commands on folders: NAMESPACE, CREATE, DELETE, RENAME, SUBSCRIBE, UNSUBSCRIBE (RFC 9051 6.3, RFC 6154).
//
// Names are checked before the account's turn; what a change does to folders below is the actor's. Answers are written
// when the change is on disk, never before.

import { Fault } from '#lib/fault.ts'
import { pathProblem } from '#mail/path.ts'
import { isDeletable } from '#store/mailboxes/mailboxes.ts'
import { command, loggedIn, nothing } from '../command.ts'
import type { Mailbox } from '../mail-store.ts'
import type { Session } from '../session.ts'
import { type Decoder, malformed } from '../wire/decoder.ts'
import { leftNames, tellNormal } from './list.ts'

/** Special uses a client may give a folder (RFC 6154 2); `\All` and `\Flagged` would be views, which this store has not. */
const specialUses = new Map(
  ['\\Archive', '\\Drafts', '\\Junk', '\\Sent', '\\Trash'].map(name => [name.toLowerCase(), name]),
)

const namespace = command({
  name: 'NAMESPACE',
  states: loggedIn,
  capabilities: ['NAMESPACE'],
  parse: nothing,
  run(session) {
    session.out.line('* NAMESPACE (("" "/")) NIL NIL')
    return undefined
  },
})

const create = command({
  name: 'CREATE',
  states: loggedIn,
  capabilities: ['CREATE-SPECIAL-USE'],
  parse(decoder) {
    decoder.space()
    const { path, denormal } = decoder.mailboxAsWritten()
    let use: string[] = []
    if (decoder.more()) {
      decoder.expect('(')
      if (decoder.word() !== 'USE') throw malformed('Unknown parameter of CREATE')
      decoder.space()
      use = decoder.flagList()
      decoder.expect(')')
    }
    decoder.end()
    return { path: path.replace(/\/$/, ''), denormal, use }
  },
  async run(session, { path, denormal, use }) {
    requireName(path)
    const specialUse = specialUseOf(await session.mail.folders(), use)
    const created = await session.mail.createFolder({ path, encrypt: false, specialUse })
    await tellNormal(session, path, denormal)
    return { code: `MAILBOXID (${created.id})` }
  },
})

const remove = command({
  name: 'DELETE',
  states: loggedIn,
  parse: oneMailbox,
  async run(session, path) {
    const mailbox = await session.mailbox(path)
    if (session.view?.num === mailbox.num && isDeletable(mailbox)) session.unselect()
    await session.mail.deleteFolder(mailbox.id)
    return undefined
  },
})

const rename = command({
  name: 'RENAME',
  states: loggedIn,
  parse(decoder) {
    decoder.space()
    const from = decoder.mailbox().replace(/\/$/, '')
    decoder.space()
    const { path, denormal } = decoder.mailboxAsWritten()
    decoder.end()
    return { from, to: path.replace(/\/$/, ''), denormal }
  },
  async run(session, { from, to, denormal }) {
    requireName(to)
    const { mail } = session
    const mailbox = await mail.folderAt(from)
    // RFC 9051 6.3.6: a name that is there already is refused, its own as well.
    if (mailbox !== undefined && from === to) throw new Fault('MailboxExistsError')
    // It is listed where others lie below it, and RFC 9051 6.3.6 has these follow.
    if (mailbox === undefined) await mail.renameParent({ from, to })
    else if (from !== 'INBOX') await mail.changeFolder({ id: mailbox.id, path: to })
    else {
      // RFC 9051 6.3.6: what INBOX holds moves to the new name, INBOX stays and is empty, folders below it stay.
      const { id } = await mail.createFolder({ path: to, encrypt: mailbox.encrypt, specialUse: null })
      await mail.moveAll(mailbox, id)
    }
    await tellNormal(session, to, denormal)
    return undefined
  },
})

const subscribe = command({
  name: 'SUBSCRIBE',
  states: loggedIn,
  parse: oneMailbox,
  async run(session, path) {
    // RFC 9051 6.3.7: what is subscribed to already stays so, there or not; what is not there cannot be subscribed to anew.
    if ((await leftNames(session, await session.mail.folders())).has(path)) return undefined
    return subscription(session, path, true)
  },
})

const unsubscribe = command({
  name: 'UNSUBSCRIBE',
  states: loggedIn,
  parse: oneMailbox,
  async run(session, path) {
    const folders = await session.mail.folders()
    if (folders.some(folder => folder.path === path)) return subscription(session, path, false)
    // Programs delete a folder first and unsubscribe then.
    if ((await leftNames(session, folders)).has(path)) await session.mail.unsubscribe(path)
    return undefined
  },
})

export const folderCommands = [namespace, create, remove, rename, subscribe, unsubscribe]

async function subscription(session: Session, path: string, subscribed: boolean): Promise<undefined> {
  const mailbox = await session.mailbox(path)
  if (mailbox.subscribed !== subscribed) await session.mail.changeFolder({ id: mailbox.id, subscribed })
  return undefined
}

function oneMailbox(decoder: Decoder): string {
  decoder.space()
  const path = decoder.mailbox()
  decoder.end()
  return path
}

/** What the rest of the service takes as a path is taken here too. */
function requireName(path: string): void {
  const problem = path.startsWith('/') ? 'must not start with a slash' : pathProblem(path)
  if (problem !== undefined) {
    throw new Fault('DisallowedMailboxMethod', { text: `This cannot be the name of a mailbox` })
  }
}

function specialUseOf(folders: readonly Mailbox[], use: readonly string[]): string | null {
  if (use.length === 0) return null
  const [name] = use.map(one => specialUses.get(one.toLowerCase()))
  // RFC 6154 3: a use that cannot be given, or is given already, is NO [USEATTR].
  if (use.length > 1 || name === undefined || folders.some(folder => folder.specialUse === name)) {
    throw new Fault('SpecialUseTaken')
  }
  return name
}
