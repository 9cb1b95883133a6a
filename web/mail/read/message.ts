// A message that is read, kept in this browser for when it cannot be asked for again.
//
// Its text never changes, so what was kept is shown also where the service takes too long; who looks again when it answers has its marks of now.

import { call, isAway } from '../../base/client.ts'
import { keep, kept } from '../../base/kept.ts'
import { type Resource, useResource } from '../../base/resource.ts'
import { type Message, user } from '../store.ts'

const getting = 'GET /users/:user/mailboxes/:mailbox/messages/:message'
const answerMs = 3000

export function useMessage(mailbox: string, message: number): Resource<Message> {
  return useResource(signal => ask(mailbox, message, signal), `${mailbox}:${message}`)
}

async function ask(mailbox: string, message: number, signal: AbortSignal): Promise<Message> {
  const name = `message ${mailbox} ${message}`
  const asked = call(getting, { params: { user: user(), mailbox, message }, signal }).then(found => {
    keep(user(), name, found)
    return found
  })
  asked.catch(() => {})
  const late = new Promise<undefined>(resolve => setTimeout(resolve, answerMs))
  try {
    const found = await Promise.race([asked, late])
    return found ?? (await kept<Message>(user(), name)) ?? (await asked)
  } catch (error) {
    const known = await kept<Message>(user(), name)
    if (known === undefined || !isAway(error)) throw error
    return known
  }
}
