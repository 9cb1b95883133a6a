// Files on their way to the service, which keeps them until a letter takes them along: with progress, one by one.

import { addressOf, Refusal } from '../../base/client.ts'
import { type Message, user } from '../store.ts'
import type { Letter, LetterFile } from './letter.ts'

/** Uploads a file. @param told how far it is, 0 to 1 @throws Refusal */
function upload(file: Blob, name: string, told: (part: number) => void = () => {}): Promise<LetterFile> {
  const query = { filename: name.slice(0, 200) || 'file' }
  const address = `${addressOf('POST /users/:user/storage', { params: { user: user() } } as never)}?${new URLSearchParams(query)}`
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
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
    request.addEventListener('error', () => reject(new Refusal(0, 'Unreachable', '')))
    request.send(file)
  })
}

/** Uploads files for a letter and says how far each is. @throws Refusal */
export async function attach(letter: Letter, files: readonly File[], add: (file: LetterFile) => void): Promise<void> {
  for (const file of files) {
    const told = (part: number) => {
      letter.uploads.value = [{ name: file.name, part }]
    }
    told(0)
    try {
      add(await upload(file, file.name, told))
    } finally {
      letter.uploads.value = []
    }
  }
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
