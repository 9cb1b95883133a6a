// From a message's bytes to what is classified of it: decoded fields and texts.
//
// Promises: linear, within limits.spam and limits.mime; never throws on what a stranger sent; a message that is cut off
// anywhere is read as far as it goes.

import { limits } from '#lib/limits.ts'
import { scanMime } from '../mime/mime.ts'
import { outline } from '../mime/outline.ts'
import { readParts } from '../text/said.ts'
import { decodedTexts } from '../text/text.ts'
import type { SpamText } from './features.ts'

export async function readSpamText(message: Buffer): Promise<SpamText> {
  const bytes = message.subarray(0, limits.spam.messageBytesMax)
  const root = scanMime(bytes)
  const read = (start: number, end: number) => bytes.subarray(start, end)
  const parts = await readParts(outline(root), read)
  const texts: { html: boolean; content: string }[] = []
  for await (const { form, content } of decodedTexts(parts.texts, read, limits.spam.textLettersMax)) {
    texts.push({ html: form === 'html', content })
  }
  const fieldsOf = (header: typeof root.header) =>
    header.fields.map((field): [string, string] => [field.key, header.value(field)])
  return { fields: fieldsOf(root.header), partFields: parts.headers.flatMap(fieldsOf), texts }
}
