// What an account is filled with, out of a request: JSON, one message, or an mbox file as the body.
//
// In this process a seed may name files; over HTTP it may not, since whoever calls may be elsewhere.

import { limits } from '#lib/limits.ts'
import { readMbox } from '#mail/exchange/mbox.ts'
import type { Draft, Seed, SeedMessage } from '#testing.d'
import { type Call, invalid } from './exchange.ts'

/** @throws Unwelcome */
export async function seedOf(call: Call): Promise<Seed> {
  const { query, type } = call
  const folder = query.get('folder') ?? undefined
  const how = { ...(folder !== undefined && { folder }), seen: query.get('seen') === 'true' }
  if (type === 'message/rfc822') return { messages: [{ ...how, mail: await call.body() }] }
  if (type === 'application/mbox') {
    const mails = await mailsOf(await call.body())
    return { messages: mails.map(mail => ({ ...how, mail })) }
  }
  const { folders = [], messages = [], ...others } = await call.object()
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw invalid(`A seed has folders and messages, and no ${unknown}`)
  if (!Array.isArray(folders) || folders.some(path => typeof path !== 'string'))
    throw invalid('folders is a list of paths')
  if (!Array.isArray(messages)) throw invalid('messages is a list')
  return { folders, messages: messages.map(checked) }
}

async function mailsOf(bytes: Buffer): Promise<Buffer[]> {
  const mails: Buffer[] = []
  async function* chunks() {
    yield bytes
  }
  for await (const { message } of readMbox(chunks(), limits.body.messageBytesMax)) {
    if (message === null) throw invalid('A message in there is larger than may be')
    mails.push(message)
  }
  return mails
}

function checked(message: unknown): Draft | SeedMessage {
  if (typeof message === 'string') return message
  if (typeof message !== 'object' || message === null) throw invalid('A message is a text or an object')
  if ('eml' in message || 'mbox' in message) {
    throw invalid(
      'Files cannot be named here: send one as the body, with Content-Type message/rfc822 or application/mbox',
    )
  }
  return message as Draft | SeedMessage
}
