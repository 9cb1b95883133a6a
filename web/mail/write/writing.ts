// Writing: letters that are open, saved as one types, sent once, taken back.
//
// A save stores the new draft before the old one goes. A letter that could not be sent goes by itself when the service answers again; where
// its answer was lost, that the draft is gone says that it went.

import { call, isAway, Refusal } from '../../base/client.ts'
import { ask } from '../../base/dialog.tsx'
import { number } from '../../base/language.ts'
import { readPeople } from '../../base/names.ts'
import { done, explain, failed } from '../../base/notice.tsx'
import { owner } from '../../base/session.ts'
import { tryOwed } from '../owed/doing.ts'
import { forgetOwed, isOwedLostWithPage, owed } from '../owed/owed.ts'
import { folderFor, openFolders, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import { getting, holdMs, offerBack } from './draft.ts'
import { identities, loadIdentities } from './identity.ts'
import {
  countHere,
  type Fields,
  forgetAllHere,
  forgetHere,
  isLostWithPage,
  keepHere,
  type Letter,
  type LetterFile,
  leftHere,
  watchOthers,
} from './letter.ts'
import { close, hide, letters, open, timers } from './opened.ts'
import { written } from './rich/safe.ts'
import { textOf } from './rich/text.ts'
import { attach, goOn } from './upload.ts'

const typingMs = 1500
const againMs = 10_000
const saves = new Map<string, Promise<void>>()

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

/** Attaches files; those that are on their way when the page ends go on in the next one. */
export function take(letter: Letter, files: readonly File[]): void {
  void followed(letter, attach(letter, files, adder(letter)))
}

function adder(letter: Letter): (file: LetterFile) => void {
  return file => change(letter, { files: [...letter.fields.value.files, file] })
}

/** That something of it is on its way is known here as long as it is. */
async function followed(letter: Letter, coming: Promise<void>): Promise<void> {
  keepHere(letter)
  await coming
  if (letters.value.includes(letter)) keepHere(letter)
}

addEventListener('pagehide', () => {
  for (const letter of letters.value) letter.flush()
})

addEventListener('beforeunload', event => {
  if (letters.value.some(isLostWithPage) || isOwedLostWithPage()) event.preventDefault()
})

function composed({ fields: { value }, reference, key }: Letter) {
  const { from, to, cc, bcc, subject, html, files } = value
  const text = html === null ? value.text : textOf(html)
  const people = (field: string) =>
    readPeople(field).people.map(one => ({ name: one.name ?? '', address: one.address }))
  const name = identities.value.find(one => one.address === from)?.name || owner().name || ''
  return {
    ...(from !== '' && { from: { name, address: from } }),
    ...{ to: people(to), cc: people(cc), bcc: people(bcc), subject, text, files: files.map(file => file.id) },
    ...(html !== null && { html: written(html) }),
    ...(reference && { reference: { ...reference, ...carrying(value) } }),
    metaData: { letter: key },
  }
}

/** Which files of the message go along; none of one that is answered. */
function carrying({ carried }: Fields): { attachments: string[] | false } {
  return { attachments: carried.length > 0 && carried.map(one => one.id) }
}

/** Saves what was written; a save that runs is waited for, and what came meanwhile is saved after it. @throws Refusal */
async function save(letter: Letter): Promise<void> {
  letter.flush()
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
    letter.refused.value = ''
    keepHere(letter)
    if (wasLost) void dropDoubles(letter).catch(() => {})
  } catch (error) {
    letter.kept.value = 'here'
    letter.refused.value = isAway(error) ? '' : explain(error)
    if (isAway(error)) retryLater()
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

export async function saveAndClose(letter: Letter): Promise<void> {
  letter.flush()
  try {
    if (letter.uploads.value.length > 0) throw new Refusal(0, 'NotYet', mailTexts.value.stillUploading)
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
  // On its way already, for who asks twice: the draft that a second one would save is another letter.
  if (letter.pending !== null) return undefined
  letter.flush()
  const { to, cc, bcc } = letter.fields.value
  const read = readPeople([to, cc, bcc].join(','))
  if (read.wrong.length > 0) return read.wrong[0]
  if (read.people.length === 0) return mailTexts.value.noRecipient
  if (letter.uploads.value.length > 0) return mailTexts.value.stillUploading
  letter.pending = later
  letter.kept.value = 'changed'
  keepHere(letter)
  try {
    await sendNow(letter)
  } catch (error) {
    if (isAway(error)) {
      done(mailTexts.value.willBeSent)
      hide(letter)
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

let going: Promise<void> | undefined
let isWantedAgain = false

/** Brings the service what it has not; whoever asks while that is under way has it tried once more after it. */
function retryNow(): Promise<void> {
  if (going !== undefined) isWantedAgain = true
  going ??= (async () => {
    do {
      isWantedAgain = false
      await bring()
    } while (isWantedAgain)
  })().finally(() => {
    going = undefined
  })
  return going
}

async function bring(): Promise<void> {
  try {
    if (!isRestored) await restore()
  } catch (error) {
    if (isAway(error)) retryLater()
    return
  }
  for (const letter of letters.value) if (letter.kept.value === 'here') await save(letter).catch(() => {})
  for (const letter of waiting) {
    try {
      await sendNow(letter)
      waiting.delete(letter)
    } catch (error) {
      if (isAway(error)) {
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

addEventListener('online', restoreLetters)

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

let isRestored = false
let isWatching = false

/** Opens what was left in this browser, once; whoever signed in again goes on with what is open. */
export function restoreLetters(): void {
  void retryNow()
}

async function restore(): Promise<void> {
  await Promise.all([openFolders(), loadIdentities()])
  const left = await leftHere()
  isRestored = true
  for (const letter of left) {
    letter.kept.value = 'here'
    if (letter.pending === null) {
      open(letter)
      void followed(letter, goOn(letter, adder(letter)))
    } else waiting.add(letter)
  }
  if (left.some(letter => letter.pending === null)) done(mailTexts.value.restored)
  if (!isWatching) {
    isWatching = true
    watchOthers(() => {
      isRestored = false
      restoreLetters()
    })
  }
}

/** Nothing of whoever signs out stays in this browser: what the service has not they are asked about. @returns whether they go on */
export async function leaveLetters(): Promise<boolean> {
  for (const letter of letters.value) if (letter.kept.value !== 'same') await save(letter).catch(() => {})
  await tryOwed().catch(() => {})
  const { title, text, changes, action } = mailTexts.value.leaving
  const count = countHere()
  const owing = owed.value.length
  const said = [count > 0 ? text(number(count)) : '', owing > 0 ? changes(number(owing)) : ''].filter(Boolean).join(' ')
  if (said !== '' && !(await ask({ title, text: said, action, danger: true }))) return false
  forgetOwed()
  for (const letter of [...letters.value, ...waiting]) close(letter)
  waiting.clear()
  await forgetAllHere()
  return true
}
