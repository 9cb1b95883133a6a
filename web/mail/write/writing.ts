// Writing: letters that are open, saved as one types, sent once, taken back.
//
// A save stores the new draft before the old one goes. A letter that could not be sent goes by itself when the service answers again; where
// its answer was lost, that the draft is gone says that it went.

import { signal } from '@preact/signals'
import { call, Refusal, type Reply } from '../../base/client.ts'
import { moment } from '../../base/language.ts'
import { done, failed } from '../../base/notice.tsx'
import { owner } from '../../base/session.ts'
import { offer } from '../actions.ts'
import { type Person, personText, readPeople } from '../names.ts'
import { folderFor, loadFolders, type Message, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import {
  empty,
  type Fields,
  forgetHere,
  keepHere,
  type Letter,
  leftHere,
  makeLetter,
  type Reference,
} from './letter.ts'
import { uploadAgain } from './upload.ts'

export const letters = signal<readonly Letter[]>([])

type Identity = Reply<'GET /users/:user/addresses'>['results'][number]
export const identities = signal<readonly Identity[]>([])

const typingMs = 1500
const againMs = 10_000
/** Time to think again after sending. */
const holdMs = 10_000

const timers = new Map<string, ReturnType<typeof setTimeout>>()
const saves = new Map<string, Promise<void>>()

/** Anew for each letter, since names and signatures change; those that are known do where nobody answers. */
async function loadIdentities(): Promise<void> {
  try {
    const { results } = await call('GET /users/:user/addresses', { params: { user: user() } })
    identities.value = results.filter(one => !one.address.includes('*'))
  } catch (error) {
    if (identities.value.length === 0) throw error
  }
}

function mainIdentity(): Identity | undefined {
  return identities.value.find(one => one.main) ?? identities.value[0]
}

function signatureOf(identity: Identity | undefined): string {
  const text = identity?.signature?.text ?? ''
  return text === '' ? '' : `\n\n-- \n${text.replace(/^-- \n/, '')}`
}

/** Opens an empty letter, or one with some fields. */
export function newLetter(fields: Partial<Fields>, reference?: Reference): void {
  void loadIdentities()
    .catch(() => {})
    .then(() => {
      const identity = mainIdentity()
      const from = identity?.address ?? owner().address ?? ''
      const text = fields.text ?? signatureOf(identity)
      open(makeLetter({ fields: { ...empty, from, ...fields, text }, ...(reference && { reference }) }))
    })
}

function open(letter: Letter): void {
  letters.value = [...letters.value.filter(one => one.key !== letter.key), letter]
}

function close(letter: Letter): void {
  clearTimeout(timers.get(letter.key))
  letters.value = letters.value.filter(one => one !== letter)
  letter.release()
}

const getting = 'GET /users/:user/mailboxes/:mailbox/messages/:message'

/** Answers a message, or sends it on. */
export async function answer(at: { mailbox: string; uid: number }, action: Reference['action']): Promise<void> {
  try {
    await loadIdentities()
    const message = await call(getting, { params: { user: user(), mailbox: at.mailbox, message: at.uid } })
    const own = new Set(identities.value.map(one => one.address.toLowerCase()))
    const others = (people: readonly Person[] = []) => people.filter(one => !own.has(one.address.toLowerCase()))
    const back = message.replyTo?.length ? message.replyTo : [message.from]
    const isForward = action === 'forward'
    const to = isForward ? [] : action === 'replyAll' ? [...back, ...others(message.to)] : back
    const cc = action === 'replyAll' ? others(message.cc) : []
    const addressed = [...(message.to ?? []), ...(message.cc ?? [])].map(one => one.address.toLowerCase())
    const identity = identities.value.find(one => addressed.includes(one.address.toLowerCase())) ?? mainIdentity()
    const prefix = isForward ? /^fwd?:/i : /^re:/i
    const subject = prefix.test(message.subject) ? message.subject : `${isForward ? 'Fwd' : 'Re'}: ${message.subject}`
    const text = `${signatureOf(identity)}\n\n${isForward ? forwarded(message) : quoted(message)}`
    const fields = { from: identity?.address ?? '', to: listed(to), cc: listed(cc), subject, text }
    newLetter(fields, { mailbox: at.mailbox, id: at.uid, action, attachments: isForward })
  } catch (error) {
    failed(error)
  }
}

function listed(people: readonly Person[]): string {
  return people.map(person => `${personText(person)}, `).join('')
}

const quotedMax = 200_000

function quoted({ from, date, text }: Message): string {
  const lines = text.slice(0, quotedMax).replace(/\r\n/g, '\n').trimEnd().split('\n')
  const quote = lines.map(line => (line.startsWith('>') ? `>${line}` : `> ${line}`)).join('\n')
  return `${mailTexts.value.wrote(from.name || from.address, moment(date))}\n${quote}\n`
}

function forwarded(message: Message): string {
  const texts = mailTexts.value
  const head = [
    `---------- ${texts.forwardedMessage} ----------`,
    `${texts.from}: ${personText(message.from)}`,
    `${texts.date}: ${moment(message.date)}`,
    `${texts.subject}: ${message.subject}`,
    `${texts.to}: ${(message.to ?? []).slice(0, 50).map(personText).join(', ')}`,
  ]
  return `${head.join('\n')}\n\n${message.text.slice(0, quotedMax).replace(/\r\n/g, '\n')}`
}

/** Goes on with a draft. */
export async function editDraft(message: Message): Promise<void> {
  const known = letters.value.find(one => one.draft?.mailbox === message.mailbox && one.draft.id === message.id)
  try {
    if (known !== undefined) {
      open(known)
      return
    }
    await loadIdentities()
    const fields: Fields = {
      from: message.from.address,
      ...{ to: listed(message.to ?? []), cc: listed(message.cc ?? []), bcc: listed(message.bcc ?? []) },
      ...{ subject: message.subject, text: message.text.replace(/\r\n/g, '\n'), files: await uploadAgain(message) },
    }
    const reference = message.reference && { ...(message.reference as Reference), attachments: false }
    const draft = { mailbox: message.mailbox, id: message.id }
    open(makeLetter({ fields, draft, ...(reference && { reference }) }))
  } catch (error) {
    failed(error)
  }
}

/** Changes fields; they are kept here at once and saved in a moment. */
export function change(letter: Letter, fields: Partial<Fields>): void {
  letter.fields.value = { ...letter.fields.value, ...fields }
  letter.kept.value = 'changed'
  keepHere(letter)
  clearTimeout(timers.get(letter.key))
  timers.set(
    letter.key,
    setTimeout(() => void save(letter).catch(() => {}), typingMs),
  )
}

function composed({ fields: { value }, reference, key }: Letter) {
  const { from, to, cc, bcc, subject, text, files } = value
  const people = (field: string) =>
    readPeople(field).people.map(one => ({ name: one.name ?? '', address: one.address }))
  const name = identities.value.find(one => one.address === from)?.name || owner().name || ''
  return {
    ...(from !== '' && { from: { name, address: from } }),
    ...{ to: people(to), cc: people(cc), bcc: people(bcc), subject, text, files: files.map(file => file.id) },
    ...(reference && { reference }),
    metaData: { letter: key },
  }
}

/** Saves what was written; a save that runs is waited for, and what came meanwhile is saved after it. @throws Refusal */
async function save(letter: Letter): Promise<void> {
  clearTimeout(timers.get(letter.key))
  const before = saves.get(letter.key)
  if (before !== undefined) await before.catch(() => {})
  if (letter.kept.value === 'same' && letter.draft !== null) return
  const saving = store(letter).finally(() => saves.delete(letter.key))
  saves.set(letter.key, saving)
  return saving
}

const storing = 'POST /users/:user/mailboxes/:mailbox/messages'

async function store(letter: Letter): Promise<void> {
  const drafts = folderFor('\\Drafts')
  if (drafts === undefined) throw new Refusal(404, 'NoSuchMailbox', 'No drafts')
  const wasLost = letter.kept.value === 'here'
  letter.kept.value = 'saving'
  const written = letter.fields.value
  const replacePrevious = letter.draft ?? undefined
  try {
    const body = { ...composed(letter), draft: true, ...(replacePrevious && { replacePrevious }) }
    const { message } = await call(storing, { params: { user: user(), mailbox: drafts.id }, body })
    letter.draft = { mailbox: message.mailbox, id: message.id }
    letter.kept.value = letter.fields.value === written ? 'same' : 'changed'
    keepHere(letter)
    if (wasLost) void dropDoubles(letter).catch(() => {})
  } catch (error) {
    letter.kept.value = 'here'
    if (isUnreachable(error)) retryLater()
    throw error
  }
}

/** A save whose answer was lost may have been done. */
async function dropDoubles({ key, draft }: Letter): Promise<void> {
  if (draft === null) return
  const params = { user: user(), mailbox: draft.mailbox }
  const { results } = await call('GET /users/:user/mailboxes/:mailbox/messages', {
    params,
    query: { limit: 50, metaData: true },
  })
  for (const { id, metaData } of results) {
    if (id === draft.id || metaData?.letter !== key) continue
    await call('DELETE /users/:user/mailboxes/:mailbox/messages/:message', { params: { ...params, message: id } })
  }
}

function isUnreachable(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'Unreachable'
}

export async function saveAndClose(letter: Letter): Promise<void> {
  try {
    if (letter.kept.value !== 'same') await save(letter)
    forgetHere(letter)
    done(mailTexts.value.saved)
  } catch (error) {
    // Left in this browser, and here again when the page is.
    failed(error)
    return
  }
  close(letter)
}

export async function discard(letter: Letter): Promise<void> {
  close(letter)
  forgetHere(letter)
  await saves.get(letter.key)?.catch(() => {})
  const { draft } = letter
  if (draft === null) return
  const params = { user: user(), mailbox: draft.mailbox, message: draft.id }
  await call('DELETE /users/:user/mailboxes/:mailbox/messages/:message', { params }).catch(() => {})
}

/** Sends a letter; `later` is the moment, 0 for now. What cannot be sent now is sent when it can. @returns what is wrong with it */
export async function send(letter: Letter, later = 0): Promise<string | undefined> {
  const { to, cc, bcc } = letter.fields.value
  const read = readPeople([to, cc, bcc].join(','))
  if (read.wrong.length > 0) return read.wrong[0]
  if (read.people.length === 0) return mailTexts.value.noRecipient
  letter.pending = later
  letter.kept.value = 'changed'
  keepHere(letter)
  try {
    await sendNow(letter)
  } catch (error) {
    if (isUnreachable(error)) {
      done(mailTexts.value.willBeSent)
      close(letter)
      waiting.add(letter)
      retryLater()
      return undefined
    }
    letter.pending = null
    keepHere(letter)
    failed(error)
  }
  return undefined
}

/** Letters that go when the service answers. */
const waiting = new Set<Letter>()
let retry: ReturnType<typeof setTimeout> | undefined

function retryLater(): void {
  clearTimeout(retry)
  retry = setTimeout(() => void retryNow(), againMs)
}

async function retryNow(): Promise<void> {
  for (const letter of letters.value) if (letter.kept.value === 'here') await save(letter).catch(() => {})
  for (const letter of waiting) {
    try {
      await sendNow(letter)
      waiting.delete(letter)
    } catch (error) {
      if (isUnreachable(error)) {
        retryLater()
        return
      }
      waiting.delete(letter)
      letter.pending = null
      open(letter)
      failed(error)
    }
  }
}

addEventListener('online', () => void retryNow())

const submitting = 'POST /users/:user/mailboxes/:mailbox/messages/:message/submit'

async function sendNow(letter: Letter): Promise<void> {
  const wasTried = letter.kept.value === 'here' && letter.draft !== null
  if (!(wasTried && (await isGone(letter)))) {
    await save(letter)
    const { draft } = letter
    if (draft === null) return
    const later = letter.pending ?? 0
    const at = Math.max(later, Date.now() + holdMs)
    const params = { user: user(), mailbox: draft.mailbox, message: draft.id }
    letter.kept.value = 'here'
    const body = { sendTime: new Date(at).toISOString(), deleteFiles: true }
    const { queueId } = await call(submitting, { params, body })
    offerBack(queueId, later)
  }
  forgetHere(letter)
  close(letter)
}

/** The draft went with the call whose answer was lost. */
async function isGone({ draft }: Letter): Promise<boolean> {
  if (draft === null) return false
  try {
    await call(getting, { params: { user: user(), mailbox: draft.mailbox, message: draft.id } })
    return false
  } catch (error) {
    if (error instanceof Refusal && error.code === 'MessageNotFound') return true
    throw error
  }
}

function offerBack(queueId: string | undefined, later: number): void {
  const texts = mailTexts.value
  const text = later === 0 ? texts.sent : texts.sentLater(moment(later))
  if (queueId === undefined) done(text)
  else offer({ text, label: texts.takeBack, run: () => takeBack(queueId) }, holdMs)
}

async function takeBack(queueId: string): Promise<void> {
  const taken = await call('DELETE /users/:user/outbound/:queueId', {
    params: { user: user(), queueId },
    query: { restoreDraft: true },
  })
  if (!taken.success || taken.message === undefined) {
    failed(new Refusal(200, 'TooLate', mailTexts.value.tooLate))
    return
  }
  const { mailbox, id: message } = taken.message
  await editDraft(await call(getting, { params: { user: user(), mailbox, message } }))
  done(mailTexts.value.takenBack)
}

let isRestored = false

/** Opens what was left in this browser. Once. */
export function restoreLetters(): void {
  if (isRestored) return
  isRestored = true
  void (async () => {
    await Promise.all([loadFolders(), loadIdentities()])
    const left = await leftHere()
    for (const letter of left) {
      letter.kept.value = 'here'
      if (letter.pending === null) open(letter)
      else waiting.add(letter)
    }
    if (left.some(letter => letter.pending === null)) done(mailTexts.value.restored)
    if (left.length > 0) await retryNow()
  })().catch(() => {})
}
