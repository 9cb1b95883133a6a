// An export of accounts streams: it takes no more memory for ten times the accounts.
//
// The accounts come in by an import of a file that is written here. Each size is exported by a service that has just
// started, since what counts is the most memory it ever held.

import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ContainerWriter, kinds } from '#lib/bytes/container.ts'
import { newId } from '#lib/id.ts'
import { peakBytes, runCommand } from '../command.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, removeFolder, startService } from '../service.ts'

const paths = ['INBOX', 'Sent Mail', 'Drafts', 'Junk', 'Trash', 'Work', 'Work/Invoices', 'Travel']
const growthMegabytes = 30
const times = 10

export async function exportSection({ accounts }: Plan): Promise<Row[]> {
  const folder = makeFolder()
  try {
    const dataDir = join(folder, 'data')
    const few = Math.round(accounts / times)
    await take(folder, dataDir, 0, few)
    const small = await exported(dataDir)
    const seconds = await take(folder, dataDir, few, accounts)
    const large = await exported(dataDir)
    const note = `${Math.round(large.bytes / 2 ** 20)} MB; imported at ${Math.round((accounts - few) / seconds)}/s`
    return [
      { what: `export of ${accounts} accounts`, figure: accounts / large.seconds, unit: '/s', note },
      {
        what: `  most memory over that of ${few}`,
        figure: (large.peak - small.peak) / 2 ** 20,
        unit: 'MB',
        wanted: { most: growthMegabytes },
        note: `${Math.round(small.peak / 2 ** 20)} MB and ${Math.round(large.peak / 2 ** 20)} MB`,
      },
    ]
  } finally {
    removeFolder(folder)
  }
}

/** Moves accounts from number `from` to `to` in; answers with the seconds it took. */
async function take(folder: string, dataDir: string, from: number, to: number): Promise<number> {
  const file = join(folder, 'accounts.teal')
  await pipeline(container(from, to), createWriteStream(file))
  const { out, seconds } = await runCommand(['import', file, '--json', '--create'], dataDir)
  const { imported, entries } = JSON.parse(out) as { imported: number; entries: number }
  if (imported !== entries) throw new Error(`only ${imported} of ${entries} entries were imported`)
  return seconds
}

async function exported(dataDir: string): Promise<{ bytes: number; seconds: number; peak: number }> {
  const service = await startService(dataDir)
  const token = (await runCommand(['token', 'create', '--role', 'export'], dataDir)).out.trim()
  const { host, port } = service.listener('api')
  const began = performance.now()
  const answer = await fetch(`http://${host}:${port}/data/export`, { headers: { 'X-Access-Token': token } })
  let bytes = 0
  for await (const chunk of answer.body ?? []) bytes += chunk.length
  const seconds = (performance.now() - began) / 1000
  const peak = peakBytes(service.pid)
  await service.stop()
  return { bytes, seconds, peak }
}

function* container(from: number, to: number): Generator<Buffer> {
  const writer = new ContainerWriter()
  yield writer.record(kinds.header, { type: 'teal_data_export', version: 1, created: new Date(0) })
  for (let number = from; number < to; number++) {
    for (const [collection, entry] of entriesOf(number)) {
      yield writer.record(kinds.entry, { client: 'teal', collection, entry })
    }
  }
  yield writer.end()
}

/** An account with an address, folders and a filter. */
function entriesOf(number: number): [string, object][] {
  const id = newId()
  const name = `exported${number}`
  const address = `${name}@bench.test`
  const numbers = { authVersion: 0, disabled: 0, suspended: 0, activated: 1, quota: 0, created: 1.7e12 }
  const user = {
    id,
    username: name,
    name,
    address,
    password: `$pbkdf2-sha256$i=1000$${'s'.repeat(22)}$${'h'.repeat(43)}`,
  }
  const filter = { query: '{"from":"boss@example.net"}', action: '{"flag":true}', meta: null, disabled: 0 }
  return [
    ['user', { ...user, ...numbers, temporary: null, tags: '["bench"]', options: '{"spamLevel":50}' }],
    ['address', { id: newId(), user: id, address, name, tags: '[]', meta: null, internal: null, created: 1.7e12 }],
    ['filter', { id: newId(), user: id, name: 'boss', created: 1.7e12, ...filter }],
    ...paths.map((path): [string, object] => {
      const state = { specialUse: null, uidValidity: 1, subscribed: 1, hidden: 0, encrypt: 0, retention: 0, created: 0 }
      return ['mailbox', { id: newId(), user: id, path, ...state }]
    }),
  ]
}
