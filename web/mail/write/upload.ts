// Files on their way to the service, which keeps them until a letter takes them along: with progress, one by one.
//
// Where the connection breaks they wait for it and go on; what is too large or finds no room is named and left out, and the others still go
// along. Whoever takes a file out of the letter breaks its way off.

import { addressOf, Refusal } from '../../base/client.ts'
import { shownName } from '../../base/names.ts'
import { explain, failed } from '../../base/notice.tsx'
import { type Message, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import type { Letter, LetterFile } from './letter.ts'

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
      else reject(new Refusal(request.status, said?.code ?? 'InternalError', said?.error ?? ''))
    })
    request.addEventListener('error', lost)
    request.addEventListener('abort', lost)
    aborted.addEventListener('abort', () => request.abort())
    request.send(file)
  })
}

/** Uploads files for a letter one by one and says how far each is; one that fails is named, and a broken connection waited for. */
export async function attach(letter: Letter, files: readonly File[], add: (file: LetterFile) => void): Promise<void> {
  const queue = files.map(file => ({ file, part: 0, control: new AbortController() }))
  letter.uploads.value = [...letter.uploads.value, ...queue]
  for (const { file, control } of queue) {
    const told = (part: number) => {
      letter.uploads.value = letter.uploads.value.map(one => (one.control === control ? { ...one, part } : one))
    }
    try {
      const stored = await brought(file, told, control.signal)
      if (stored !== undefined) add(stored)
    } catch (error) {
      say(file.name, error)
    }
    letter.uploads.value = letter.uploads.value.filter(one => one.control !== control)
  }
}

function say(name: string, error: unknown): void {
  failed(new Refusal(0, 'NotAttached', mailTexts.value.notAttached(shownName(name), explain(error))))
}

/** Tries until the service answers; undefined where somebody gave it up. @throws Refusal */
async function brought(
  file: File,
  told: (part: number) => void,
  aborted: AbortSignal,
): Promise<LetterFile | undefined> {
  if (file.size > fileBytesMax) throw new Refusal(413, 'BodyTooLarge', '')
  while (!aborted.aborted) {
    try {
      return await upload(file, file.name, told, aborted)
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'Unreachable') throw error
      if (!aborted.aborted) await again()
    }
  }
  return undefined
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
