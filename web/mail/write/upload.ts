// Files on their way to the service, which keeps them until a letter takes them along: with progress, one by one.
//
// Where the connection breaks, or the session or the page ends, they wait and go on; what is too large or finds no room is named and left out,
// and the others still go along. Whoever takes a file out of the letter breaks its way off.

import { addressOf, isPassing, Refusal, unsaid } from '../../base/client.ts'
import { shownName } from '../../base/names.ts'
import { explain, failed } from '../../base/notice.tsx'
import { refreshSession, session } from '../../base/session.ts'
import { type Message, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import { forgetFile, keepFile, keptFiles, newFileId } from './kept-files.ts'
import type { Letter, LetterFile, Upload } from './letter.ts'

/** Bytes that the service takes of one file. */
const fileBytesMax = 64 * 2 ** 20
const againMs = 5000

/** Uploads a file. @param told how far it is, 0 to 1 @throws Refusal */
function upload(
  file: Blob,
  name: string,
  told: (part: number) => void = () => {},
  aborted: AbortSignal = new AbortController().signal,
): Promise<LetterFile> {
  const query = { filename: name.slice(0, 200) || 'file' }
  const address = `${addressOf('POST /users/:user/storage', { params: { user: user() } } as never)}?${new URLSearchParams(query)}`
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const lost = () => reject(new Refusal(0, 'Unreachable', ''))
    request.open('POST', address)
    request.setRequestHeader('X-Teal-Page', '1')
    request.setRequestHeader('Content-Type', 'application/octet-stream')
    request.responseType = 'json'
    request.upload.addEventListener('progress', ({ loaded, total }) => told(total === 0 ? 0 : loaded / total))
    request.addEventListener('load', () => {
      const said = request.response as { id?: string; code?: string; error?: string } | null
      if (request.status === 200 && said?.id !== undefined) resolve({ id: said.id, name, size: file.size })
      else reject(new Refusal(request.status, said?.code ?? unsaid(request.status), said?.error ?? ''))
    })
    request.addEventListener('error', lost)
    request.addEventListener('abort', lost)
    aborted.addEventListener('abort', () => request.abort())
    request.send(file)
  })
}

/** Brings files for a letter, which are kept here until they are there; one that fails is named, and a broken connection waited for. */
export async function attach(letter: Letter, files: readonly File[], add: (file: LetterFile) => void): Promise<void> {
  for (const file of files) if (file.size > fileBytesMax) say(file.name, new Refusal(413, 'BodyTooLarge', ''))
  const queue = files
    .filter(file => file.size <= fileBytesMax)
    .map(file => ({ id: newFileId(), file, part: 0, isKept: undefined, control: new AbortController() }))
  const keeping = queue.map(async ({ id, file, control }) => {
    const isKept = await keepFile(letter.key, id, file)
    update(letter, control, { isKept })
  })
  await bring(letter, queue, add)
  // One that was there before it was kept.
  await Promise.all(keeping)
  for (const { id } of queue) await forgetFile(letter.key, id)
}

/** Goes on with files that a page which is gone had begun to bring. */
export async function goOn(letter: Letter, add: (file: LetterFile) => void): Promise<void> {
  const found = await keptFiles(letter.key)
  const there = new Set(letter.fields.value.files.map(one => one.cameAs))
  for (const { id } of found) if (there.has(id)) await forgetFile(letter.key, id)
  const queue = found
    .filter(({ id }) => !there.has(id))
    .map(({ id, file }) => ({ id, file, part: 0, isKept: true, control: new AbortController() }))
  await bring(letter, queue, add)
}

function update(letter: Letter, control: AbortController, change: Partial<Upload>): void {
  letter.uploads.value = letter.uploads.value.map(one => (one.control === control ? { ...one, ...change } : one))
}

/** One after the other. */
async function bring(letter: Letter, queue: readonly Upload[], add: (file: LetterFile) => void): Promise<void> {
  letter.uploads.value = [...letter.uploads.value, ...queue]
  for (const upload of queue) {
    const { id, file, control } = upload
    const leave = () => {
      letter.uploads.value = letter.uploads.value.filter(one => one.control !== control)
    }
    try {
      const stored = await brought(file, part => update(letter, control, { part }), control.signal)
      leave()
      if (stored !== undefined && !control.signal.aborted) add({ ...stored, cameAs: id })
    } catch (error) {
      leave()
      say(file.name, error)
    }
    await forgetFile(letter.key, id)
  }
}

function say(name: string, error: unknown): void {
  failed(new Refusal(0, 'NotAttached', mailTexts.value.notAttached(shownName(name), explain(error))))
}

/** Tries until the service has it; undefined where somebody gave it up. @throws Refusal */
async function brought(
  file: File,
  told: (part: number) => void,
  aborted: AbortSignal,
): Promise<LetterFile | undefined> {
  const of = session.value?.user?.id
  while (!aborted.aborted) {
    try {
      // Whoever was signed out goes on when they are in again.
      if (session.value?.user?.id === of) return await upload(file, file.name, told, aborted)
    } catch (error) {
      if (aborted.aborted) return undefined
      if (!isPassing(error)) throw error
      if (error instanceof Refusal && error.code === 'InvalidToken') await refreshSession().catch(() => {})
      else if (!(await isReadable(file))) throw new Refusal(0, 'NotReadable', mailTexts.value.notReadable)
    }
    if (!aborted.aborted) await again()
  }
  return undefined
}

/** The file on the disk is as it was chosen. */
async function isReadable(file: File): Promise<boolean> {
  return file
    .slice(0, 1)
    .arrayBuffer()
    .then(
      () => true,
      () => false,
    )
}

/** The moment to try again: when the browser has a network, or some time has passed. */
function again(): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(go, againMs)
    function go() {
      clearTimeout(timer)
      removeEventListener('online', go)
      resolve()
    }
    addEventListener('online', go)
  })
}

const getting = 'GET /users/:user/mailboxes/:mailbox/messages/:message/attachments/:attachment'

/** The files of a draft: those the service still has, or its attachments brought once more, but not those in its text. @throws Refusal */
export async function uploadAgain(message: Message, inText: ReadonlySet<string>): Promise<LetterFile[]> {
  const kept = (message.files ?? []).map(({ id, filename, size }) => ({ id, name: filename, size }))
  if (kept.length > 0 || message.attachments.length === 0) return kept
  const found: LetterFile[] = []
  for (const { id: attachment, filename } of message.attachments) {
    if (inText.has(attachment)) continue
    const params = { user: user(), mailbox: message.mailbox, message: message.id, attachment }
    const answer = await fetch(addressOf(getting, { params }), { headers: { 'X-Teal-Page': '1' } })
    if (!answer.ok) throw new Refusal(answer.status, 'AttachmentNotFound', filename)
    found.push(await upload(await answer.blob(), filename || attachment))
  }
  return found
}
