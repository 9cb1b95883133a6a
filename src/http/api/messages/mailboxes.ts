// Folders over HTTP (wire-shapes, Mailboxes; wire-details 5). Names are checked before the account's turn; what a change
// does to other folders is the actor's. An account sees its own folders only; what is not its own is not there.
//
// An unknown account and an unknown folder are told alike where a token may not know the difference (wire-details 5).

import { Type } from 'typebox'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { deleteFolder } from '#actors/mailbox/deletion.ts'
import { createMailbox, updateMailbox } from '#actors/mailbox/mailbox.ts'
import { Fault, type FaultCode, invalid } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { comparePaths, isSentence, normalizePath, pathProblem } from '#mail/path.ts'
import { findUser, type User } from '#store/accounts/users.ts'
import type { Reader } from '#store/engine/reader.ts'
import { findMailbox, findMailboxByPath, listMailboxes, type Mailbox } from '#store/mailboxes/mailboxes.ts'
import { endpoint } from '../../endpoint.ts'
import { bool, field, mailboxId, num, optional, userId } from '../../schema.ts'

export interface MailboxDeps {
  readonly system: ActorSystem
  /** A changed retention leaves a task. */
  readonly tasks: { kick(): void }
}

/** A path as the API takes it; refusals have the original's wording. */
export const mailboxPath = field<string>({ type: 'string', minLength: 1 }, (value, at, problems) => {
  if (typeof value !== 'string') return problems.add(at, 'must be a string')
  const problem = pathProblem(value)
  if (problem === undefined) return normalizePath(value)
  return isSentence(problem) ? problems.tell(at, problem) : problems.add(at, problem)
})

/** What retention may be. */
const kept = { min: 0, max: limits.user.retentionMsMax } as const

const shape = {
  id: mailboxId,
  name: Type.String(),
  path: Type.String(),
  specialUse: Type.Union([Type.String(), Type.Literal(false), Type.Null()]),
  modifyIndex: Type.Integer(),
  subscribed: Type.Boolean(),
  hidden: Type.Boolean(),
  encryptMessages: Type.Boolean(),
  retention: Type.Optional(Type.Number()),
  total: Type.Optional(Type.Integer()),
  unseen: Type.Optional(Type.Integer()),
  size: Type.Optional(Type.Integer()),
}

export function mailboxEndpoints({ system, tasks }: MailboxDeps) {
  const { read } = system
  const list = endpoint({
    method: 'GET',
    path: '/users/:user/mailboxes',
    anywhere: true,
    tag: 'Mailboxes',
    summary: 'List mailboxes',
    allow: 'mailboxes.read',
    params: { user: userId },
    query: {
      specialUse: bool({ default: false, description: 'Only INBOX and mailboxes of special use' }),
      showHidden: bool({ default: false, description: 'Hidden ones too' }),
      counters: bool({ default: false, description: 'With message counts' }),
      sizes: bool({ default: false, description: 'With sizes in bytes' }),
    },
    reply: { results: Type.Array(Type.Object(shape)) },
    faults: ['UserNotFound'],
    async run({ input }) {
      const user = await requireUser(read, input.user)
      const mailboxes = (await listMailboxes(read, user.num))
        .filter(one => !one.hidden || input.showHidden)
        .filter(one => !input.specialUse || one.specialUse !== null || one.path === 'INBOX')
      mailboxes.sort(comparePaths)
      return { results: mailboxes.map(one => shownMailbox(one, input.counters, input.sizes)) }
    },
  })

  const create = endpoint({
    method: 'POST',
    path: '/users/:user/mailboxes',
    tag: 'Mailboxes',
    summary: 'Create a mailbox',
    allow: 'mailboxes.create',
    params: { user: userId },
    body: {
      path: mailboxPath,
      hidden: bool({ default: false, description: 'Not shown in listings' }),
      retention: optional(num({ ...kept, description: 'Milliseconds messages are kept; 0: for ever' })),
      encryptMessages: bool({ default: false, description: 'Encrypt what comes in with the key of the user' }),
    },
    reply: { id: mailboxId },
    faults: ['UserNotFound', 'MailboxExistsError', 'DisallowedMailboxMethod'],
    async run({ input, signal }) {
      const { path, hidden, retention, encryptMessages: encrypt } = input
      const mailbox = { path, hidden, retention, encrypt, subscribed: true }
      const { id } = await system
        .handle(input.user)
        .run(createMailbox, mailbox, signal)
        .catch(coded('Mailbox creation failed', 'UserNotFound'))
      return { id }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/users/:user/mailboxes/:mailbox',
    anywhere: true,
    tag: 'Mailboxes',
    summary: 'Get one mailbox, by id or with `resolve` by path',
    allow: 'mailboxes.read',
    params: { user: userId, mailbox: mailboxOrResolve },
    query: { path: optional(mailboxPath) },
    reply: shape,
    faults: ['UserNotFound', 'NoSuchMailbox'],
    async run({ input }) {
      const user = await requireUser(read, input.user)
      if (input.mailbox === 'resolve' && input.path === undefined) throw invalid('path', 'is required')
      const mailbox =
        input.mailbox === 'resolve'
          ? await findMailboxByPath(read, user.num, input.path ?? '')
          : await findMailbox(read, user.num, input.mailbox)
      if (mailbox === undefined) throw new Fault('NoSuchMailbox')
      return shownMailbox(mailbox, true, false)
    },
  })

  const update = endpoint({
    method: 'PUT',
    path: '/users/:user/mailboxes/:mailbox',
    tag: 'Mailboxes',
    summary: 'Change a mailbox; a new path moves the mailboxes below it along',
    allow: 'mailboxes.update',
    params: { user: userId, mailbox: mailboxId },
    body: {
      path: optional(mailboxPath),
      retention: optional(num(kept)),
      subscribed: optional(bool()),
      encryptMessages: optional(bool()),
      hidden: optional(bool()),
    },
    faults: ['NoSuchMailbox', 'DisallowedMailboxMethod', 'MailboxExistsError', 'NothingChanged'],
    async run({ input, signal }) {
      const { path: to, retention, subscribed, hidden, encryptMessages: encrypt } = input
      if ([to, retention, subscribed, hidden, encrypt].every(value => value === undefined)) {
        throw new Fault('NothingChanged')
      }
      const change = { id: input.mailbox, path: to, retention, subscribed, hidden, encrypt }
      await system.handle(input.user).run(updateMailbox, change, signal).catch(coded('Mailbox update failed'))
      if (retention !== undefined) tasks.kick()
      return {}
    },
  })

  const remove = endpoint({
    method: 'DELETE',
    path: '/users/:user/mailboxes/:mailbox',
    tag: 'Mailboxes',
    summary: 'Delete a mailbox with its messages',
    allow: 'mailboxes.delete',
    params: { user: userId, mailbox: mailboxId },
    faults: ['NoSuchMailbox', 'DisallowedMailboxMethod'],
    async run({ input, signal }) {
      const handle = system.handle(input.user)
      await deleteFolder(handle, { id: input.mailbox }, signal).catch(coded('Mailbox deletion failed'))
      return {}
    },
  })

  return [list, create, get, update, remove]
}

/** An id, or the word that stands for "the one whose path is given". */
export const mailboxOrResolve = field<string>({ type: 'string' }, (value, at, problems) => {
  const wanted = typeof value === 'string' ? value.toLowerCase() : ''
  if (wanted === 'resolve' || /^[0-9a-f]{24}$/.test(wanted)) return wanted
  return problems.add(at, 'must be an id or "resolve"')
})

/** The account. @throws Fault UserNotFound */
export async function requireUser(read: Reader, id: string): Promise<User> {
  const user = await findUser(read, id)
  if (user === undefined || user.deleted !== null) throw new Fault('UserNotFound')
  return user
}

/** The texts that clients compare; an unknown account and an unknown folder are told alike (wire-details 5). */
function coded(what: string, unknown: FaultCode = 'NoSuchMailbox'): (error: unknown) => never {
  return error => {
    if (!(error instanceof Fault)) throw error
    const code = error.code === 'UserNotFound' ? unknown : error.code
    if (!codedFaults.has(code)) throw error
    throw new Fault(code, { text: `${what} with code ${code}`, cause: error })
  }
}

const codedFaults: ReadonlySet<FaultCode> = new Set([
  'NoSuchMailbox',
  'MailboxExistsError',
  'DisallowedMailboxMethod',
] as const)

function shownMailbox(mailbox: Mailbox, counters: boolean, sizes: boolean) {
  const { id, path: full, specialUse, modseq, subscribed, hidden, encrypt, retention, total, unseen, size } = mailbox
  return {
    id,
    name: full.slice(full.lastIndexOf('/') + 1),
    path: full,
    specialUse,
    modifyIndex: modseq,
    subscribed,
    hidden,
    encryptMessages: encrypt,
    ...(retention > 0 ? { retention } : {}),
    ...(counters ? { total, unseen } : {}),
    ...(sizes ? { size } : {}),
  }
}
