// Pictures in the text of a letter: as data in its HTML, which the service makes parts of the message of, so that they need no upload and
// survive a broken connection.
//
// A great one is made smaller first; what is too much even so becomes a file beside the text.

import { addressOf } from '../../../base/client.ts'
import { type Message, user } from '../../store.ts'
import { tamed } from './tamed.ts'

/** Bytes of a picture that stays as it is. */
const keptMax = 300_000
const sideMax = 1600
/** Characters of all of a letter's HTML: it must fit beside others into what a browser keeps. */
export const richMax = 2_000_000

const kinds = /^image\/(?:png|jpeg|gif|webp)$/

/** A picture as an address that holds it; undefined for what is no picture or stays too large. */
export async function pictureOf(file: Blob): Promise<string | undefined> {
  if (!kinds.test(file.type)) return undefined
  if (file.size <= keptMax) return dataOf(file)
  const image = await createImageBitmap(file).catch(() => undefined)
  if (image === undefined) return undefined
  const scale = Math.min(1, sideMax / Math.max(image.width, image.height))
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, Math.round(image.width * scale))
  canvas.height = Math.max(1, Math.round(image.height * scale))
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height)
  image.close()
  const small = await new Promise<Blob | null>(resolve => canvas.toBlob(resolve, 'image/jpeg', 0.85))
  return small === null || small.size > richMax / 2 ? undefined : dataOf(small)
}

function dataOf(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => resolve(String(reader.result)))
    reader.addEventListener('error', () => reject(reader.error))
    reader.readAsDataURL(blob)
  })
}

const getting = 'GET /users/:user/mailboxes/:mailbox/messages/:message/attachments/:attachment'
const own = /^attachment:([A-Za-z0-9]{1,32})$/

/** HTML of a message with its own pictures in it, as far as there is room. @returns it, and the attachments that are in it */
export async function withPictures(html: string, message: Message): Promise<{ html: string; shown: Set<string> }> {
  const { body } = new DOMParser().parseFromString(tamed(html), 'text/html')
  const shown = new Set<string>()
  let room = richMax - Math.min(richMax, html.length)
  for (const image of body.querySelectorAll('img')) {
    const attachment = own.exec(image.getAttribute('src') ?? '')?.[1]
    if (attachment === undefined) continue
    const params = { user: user(), mailbox: message.mailbox, message: message.id, attachment }
    const answer = await fetch(addressOf(getting, { params }), { headers: { 'X-Teal-Page': '1' } })
    const data = answer.ok ? await pictureOf(await answer.blob()) : undefined
    if (data === undefined || data.length > room) continue
    room -= data.length
    shown.add(attachment)
    image.setAttribute('src', data)
  }
  return { html: body.innerHTML, shown }
}
