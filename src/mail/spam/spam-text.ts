// From a message's bytes to what is classified of it: decoded fields and texts.
//
// Promises: linear, within limits.spam and limits.mime; never throws on what a stranger sent; a message that is cut off
// anywhere is read as far as it goes.

import { limits } from '#lib/limits.ts'
import type { ReadRange } from '../mime/decode.ts'
import { type MimePart, scanMime } from '../mime/mime.ts'
import { type Outline, outline } from '../mime/outline.ts'
import { readParts } from '../text/said.ts'
import { decodedTexts } from '../text/text.ts'
import type { SpamText } from './features.ts'

/** Whether nobody but its owner can read a message of this type: nothing is to be learned of it. */
export function isSealed(contentType: string): boolean {
  return /^\s*(?:multipart\/encrypted|application\/(?:x-)?pkcs7-mime)/i.test(contentType)
}

export async function readSpamText(message: Buffer): Promise<SpamText> {
  const bytes = message.subarray(0, limits.spam.messageBytesMax)
  const root = scanMime(bytes)
  return spamTextIn(root, outline(root), (start, end) => bytes.subarray(start, end))
}

/** The same of a message whose parts are known. What begins later than messages are looked at is left out, as it is above. */
export async function spamTextIn(
  root: Pick<MimePart, 'header'>,
  outlined: Pick<Outline, 'index' | 'texts'>,
  read: ReadRange,
): Promise<SpamText> {
  const parts = await readParts(outlined, read)
  const near = parts.texts.filter(({ start }) => start < limits.spam.messageBytesMax)
  const texts: { html: boolean; content: string }[] = []
  for await (const { form, content } of decodedTexts(near, read, limits.spam.textLettersMax)) {
    texts.push({ html: form === 'html', content })
  }
  const fieldsOf = (header: typeof root.header) =>
    header.fields.map((field): [string, string] => [field.key, header.value(field)])
  return { fields: fieldsOf(root.header), partFields: parts.headers.flatMap(fieldsOf), texts }
}
