// `teal import-mbox`: moves mbox files (mboxrd, as mail programs and audits write them) into accounts.
//
// A message has no name in such a file, so it is known by what it says, and by how many of the same came before it: running
// it again moves only what is missing.

import { constants } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { Command } from 'commander'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { usualUse } from '#mail/exchange/maildir.ts'
import { type MboxRead, readMbox } from '#mail/exchange/mbox.ts'
import { isFolderData, MboxKeys, mboxItem } from '#mail/exchange/mbox-item.ts'
import { type ImportCounters, Load, type LoadItem } from '../load.ts'
import { withConfig } from '../options.ts'
import type { Progress } from '../print.ts'
import type { Reach } from '../reach.ts'
import { type ImportOptions, runImports, type Source } from './import.ts'

export function importMboxCommand(): Command {
  return withConfig(new Command('import-mbox'))
    .argument('<pair...>', '<user>:<file>; the user is an id, a username or an e-mail address')
    .option('-f, --folder <path>', 'folder the messages go to', 'INBOX')
    .option('-u, --uploaders <number>', 'accounts whose mail is moved at once (import.uploaders)')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      '\nExample:\n  teal import-mbox --folder Archive/2019 alice@example.com:/home/alice/mail/2019',
    )
    .action((pairs: string[], options: ImportOptions & { folder: string }) =>
      runImports(pairs, options, file => mboxSource(file, options.folder)),
    )
}

function mboxSource(file: string, path: string): Source {
  return {
    async check() {
      const found = await lstat(file).catch(() => undefined)
      if (found?.isFile() !== true) throw new Fault('InputValidationError', { text: `${file} is no file` })
    },
    async run(to, user, counters, progress) {
      const specialUse = path === 'INBOX' ? undefined : (usualUse(path) ?? undefined)
      const form = { path, specialUse }
      const { id: mailbox } = await to.call<{ id: string }>('POST', `/control/users/${user}/folders`, form)
      await moveAll({ to, user, mailbox, counters, progress }, file)
    },
  }
}

interface Place {
  readonly to: Reach
  readonly user: string
  readonly mailbox: string
  readonly counters: ImportCounters
  readonly progress: Progress
}

/** Never through a link, never waiting for a pipe, also where one takes its place after the look. */
async function openMbox(file: string): Promise<FileHandle> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw new Fault('InputValidationError', { text: `${file} is no file` })
}

async function moveAll({ to, user, mailbox, counters, progress }: Place, file: string): Promise<void> {
  const load = new Load(to, { user, mailbox, source: 'mbox' }, counters, progress)
  const keys = new MboxKeys()
  let number = 0
  let expected = 0
  const expect = (total: number) => {
    progress.expect(total - expected)
    expected = total
  }
  const handle = await openMbox(file)
  const { size } = await handle.stat()
  const chunks = handle.createReadStream({ highWaterMark: limits.body.chunkBytes })
  await load.during(async () => {
    for await (const read of readMbox(chunks, limits.body.messageBytesMax)) {
      number += 1
      // How many there are is known at the end; until then, how many there would be if all were like those so far.
      if (number >= expected || number % 1000 === 0)
        expect(Math.max(number, Math.round((number * size) / Math.max(1, chunks.bytesRead))))
      const name = `${file} (message ${number})`
      const why = read.message === null ? 'large' : noMail(read.message)
      if (read.message !== null && why === undefined) {
        await load.add(itemOf(read, read.message, name, keys.of(mailbox, read.message)))
        continue
      }
      counters[why === 'large' ? 'failed' : 'skipped'] += 1
      if (why === 'large') progress.note(`${name}: is larger than a message may be`)
      if (why === 'empty') progress.note(`${name}: is empty, passed over`)
      progress.add(1)
    }
    if (number === 0 && size > 0)
      throw new Fault('InputValidationError', { text: `${file} is no mbox: it has no From line` })
    expect(number)
  })
}

/** Why what is between two From lines is no message; undefined where it is one. */
function noMail(message: Buffer): 'empty' | 'data' | undefined {
  if (message.length === 0) return 'empty'
  return isFolderData(message) ? 'data' : undefined
}

/** Flags are in Status and X-Status, as mail programs wrote them. */
function itemOf(read: MboxRead, message: Buffer, name: string, key: string): LoadItem {
  const { path: _, ...item } = mboxItem(message, read.envelope)
  return { key, name, ...item, size: item.content.length }
}
