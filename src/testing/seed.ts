// Fills an account in one call, to test mail programs and importers against: folders, drafts, .eml and mbox files.
//
// Stored as an import would: without events, without a quota, with the flags and the date a test wants.

import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Importer } from '#actors/admin/import.ts'
import { prepare } from '#actors/delivery/prepare.ts'
import { appendMessage } from '#actors/mailbox/append.ts'
import type { Core } from '#core'
import { limits } from '#lib/limits.ts'
import { readMbox } from '#mail/exchange/mbox.ts'
import { flag } from '#mail/flags.ts'
import { mendPlain } from '#mail/mime/line-end.ts'
import type * as Promised from '../testing.d.ts'
import { writeDraft } from './sending.ts'

/** @throws what a folder or a file is refused with */
export async function seedAccount(
  core: Core,
  user: string,
  { folders = [], messages = [] }: Promised.Seed,
): Promise<void> {
  const { system, bodies, sequence } = core
  const importer = new Importer({ system, bodies, sequence })
  const known = new Map<string, string>()
  const folder = async (path: string): Promise<string> => {
    const found = known.get(path)
    if (found !== undefined) return found
    const wanted = { path, specialUse: null, subscribed: true }
    const { id } = await importer.folder(user, wanted, new AbortController().signal)
    known.set(path, id)
    return id
  }
  for (const path of folders) await folder(path)
  for (const message of messages) {
    const wanted: Promised.SeedMessage = isSeed(message) ? message : { mail: message as Promised.Draft }
    const mailbox = await folder(wanted.folder ?? 'INBOX')
    for await (const bytes of bytesOf(wanted)) await append(core, user, mailbox, wanted, bytes)
  }
}

function isSeed(message: Promised.Draft | Promised.SeedMessage): message is Promised.SeedMessage {
  if (typeof message === 'string' || Buffer.isBuffer(message)) return false
  return ['mail', 'eml', 'mbox', 'folder', 'seen', 'flagged', 'date'].some(name => Object.hasOwn(message, name))
}

async function* bytesOf({ mail, eml, mbox }: Promised.SeedMessage): AsyncGenerator<Buffer> {
  if (mail !== undefined) yield await writeDraft(mail)
  if (eml !== undefined) yield mendPlain(await readFile(eml))
  if (mbox === undefined) return
  for await (const { message, size } of readMbox(createReadStream(mbox), limits.body.messageBytesMax)) {
    if (message === null) throw new Error(`A message of ${size} bytes in ${mbox} is larger than may be`)
    yield mendPlain(message)
  }
}

async function append(
  { bodies, sequence, system }: Core,
  user: string,
  mailbox: string,
  { seen = false, flagged = false, date }: Promised.SeedMessage,
  bytes: Buffer,
): Promise<void> {
  const received = await bodies.receive(bytes)
  try {
    const prepared = await prepare(received, sequence)
    await system.handle(user).run(appendMessage, {
      ...{ prepared, to: { id: mailbox }, prefix: '', keywords: [], idate: date },
      flags: (seen ? flag.seen : 0) | (flagged ? flag.flagged : 0),
      meta: { source: 'import' },
      ...{ once: false, limited: false, silent: true },
    })
  } finally {
    await received.discard()
  }
}
