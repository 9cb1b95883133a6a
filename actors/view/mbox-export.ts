// The mail of an account as one mbox file (mboxrd), for its owner to take along: a folder, or all of them.
//
// It is made as the reader takes it, from the stored bytes; lines end in LF, as such files have it, and Status, X-Status and
// X-Keywords say the flags, X-Export-Mailbox the folder. A message that goes meanwhile is left out; one that cannot be
// read stands there with a field that says so, since the rest is wanted all the same. Nothing is changed by it.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { mboxMessage } from '#mail/exchange/mbox.ts'
import { answered, deleted, draft, flagged, seen } from '#mail/flags.ts'
import { comparePaths } from '#mail/path.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import { listMailboxes, type Mailbox } from '#store/mailboxes/mailboxes.ts'
import { type Message, rangeMessages } from '#store/mailboxes/messages.ts'

interface Sources {
  readonly read: Reader
  readonly bodies: Bodies
}

/** @param user number of the account @param only one folder; null: all, one after the other */
export async function* exportMbox(sources: Sources, user: number, only: Mailbox | null): AsyncGenerator<Buffer> {
  const all = only === null ? (await listMailboxes(sources.read, user)).sort(comparePaths) : [only]
  for (const mailbox of all) yield* folder(sources, mailbox)
}

async function* folder({ read, bodies }: Sources, { num, path }: Mailbox): AsyncGenerator<Buffer> {
  for (let from = 1; ; ) {
    const page = await rangeMessages(read, num, from, 2 ** 32, limits.audit.pageMessages)
    for (const message of page) {
      const content = await mboxContent(bodies, message)
      if (content === undefined) continue
      const fields = [...statusOf(message), `X-Export-Mailbox: ${path}`, ...content.fields]
      yield* mboxMessage({ from: message.meta.from ?? '', date: message.idate, fields }, content.bytes)
    }
    const last = page.at(-1)
    if (last === undefined) return
    from = last.uid + 1
  }
}

/** The bytes of a message, and fields for what is to be known of them; undefined where it has gone. */
export async function mboxContent(bodies: Bodies, { body: num, prefix }: Pick<Message, 'body' | 'prefix'>) {
  try {
    const body = await bodies.open(num)
    await bodies.proof.prove(num, body)
    async function* bytes(): AsyncGenerator<Buffer> {
      if (prefix !== '') yield Buffer.from(prefix)
      yield* body.stream()
    }
    return { fields: [], bytes: bytes() }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    if (error.code !== 'BodyUnreadable') return undefined
    async function* nothing(): AsyncGenerator<Buffer> {
      yield Buffer.from('\r\n')
    }
    return { fields: ['X-Export-Unreadable: Yes'], bytes: nothing() }
  }
}

const letters = [
  [answered, 'A'],
  [flagged, 'F'],
  [deleted, 'D'],
  [draft, 'T'],
] as const

/** Flags as mail programs write them into such files, and as they are read here. */
function statusOf({ flags, keywords }: Message): string[] {
  const marks = letters.filter(([bit]) => (flags & bit) !== 0).map(([, letter]) => letter)
  return [
    `Status: ${(flags & seen) === 0 ? 'O' : 'RO'}`,
    ...(marks.length === 0 ? [] : [`X-Status: ${marks.join('')}`]),
    ...(keywords.length === 0 ? [] : [`X-Keywords: ${keywords.join(' ')}`]),
  ]
}
