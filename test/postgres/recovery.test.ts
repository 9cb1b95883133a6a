// Copies of the database by its own tools: a dump brought back into another database, and a base backup with the archived log brought
// back to a moment between two deliveries. A service goes on with each, with all mail up to then, and no UID is ever another's.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTeal, type Teal } from '#service'
import { childEnvironment, runTeal } from '../child.ts'
import { deliver, openLmtp } from '../dialogue.ts'
import { Client } from '../imap/client.ts'
import { accessTo } from '../running.ts'
import { type Cluster, runProgram, startCluster } from './cluster.ts'

const folder = mkdtempSync(join(tmpdir(), 'teal-recovery-'))
/** Written by the server, which is somebody else. */
let archive: string
let cluster: Cluster
let recovered: Cluster | undefined
/** Before the third letter. */
let moment: string
let validity: number
/** The segment of the log behind the last that has to be archived. */
let name: string
const large = Buffer.alloc(900_000, 'The quick brown fox jumps over the lazy dog.\r\n')

beforeAll(async () => {
  archive = mkdtempSync(join(tmpdir(), 'teal-archive-'))
  chmodSync(archive, 0o777)
  cluster = await startCluster({
    settings: { archive_mode: 'on', archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f` },
  })
  await asked(cluster, 'postgres', 'CREATE DATABASE teal TEMPLATE template0')
  await served(cluster, 'teal', async ({ receive, box, user }) => {
    await user('anna')
    await receive('one', large)
    runProgram('pg_basebackup', [
      '-D',
      join(archive, 'base'),
      '-h',
      cluster.folder,
      '-U',
      'teal',
      '-X',
      'none',
      '-c',
      'fast',
    ])
    await receive('two')
    ;[{ moment }] = (await asked(cluster, 'teal', 'SELECT clock_timestamp()::text AS moment')) as [{ moment: string }]
    await receive('three')
    ;({ validity } = await box(['one', 'two', 'three']))
  })
  await asked(cluster, 'teal', 'SELECT pg_switch_wal()')
  ;[{ name }] = (await asked(cluster, 'teal', 'SELECT pg_walfile_name(pg_current_wal_lsn()) AS name')) as [
    { name: string },
  ]
})

afterAll(async () => {
  await recovered?.stop()
  await cluster?.stop()
  for (const one of [folder, archive]) rmSync(one, { recursive: true, force: true })
})

test('a dump goes on in another database', async () => {
  const dump = join(archive, 'teal.dump')
  const at = ['-h', cluster.folder, '-U', 'teal']
  runProgram('pg_dump', [...at, '-F', 'c', '-f', dump, 'teal'])
  await asked(cluster, 'postgres', 'CREATE DATABASE again TEMPLATE template0')
  runProgram('pg_restore', [...at, '-d', 'again', '--exit-on-error', dump])
  await verified(cluster, 'again')
  await served(cluster, 'again', async ({ box, receive }) => {
    // Nothing came after it: nothing has to be told.
    expect(await box(['one', 'two', 'three'])).toMatchObject({ validity, uids: [1, 2, 3] })
    await receive('four')
    expect(await box(['one', 'two', 'three', 'four'])).toMatchObject({ validity, uids: [1, 2, 3, 4] })
  })
})

test('a moment between two deliveries comes back, and what is delivered then has no number of what is gone', async () => {
  await expect
    .poll(() =>
      asked(
        cluster,
        'teal',
        `SELECT coalesce(last_archived_wal, '') >= '${before(name)}' AS done FROM pg_stat_archiver`,
      ),
    )
    .toEqual([{ done: true }])
  const data = join(archive, 'base')
  chmodSync(data, 0o700)
  writeFileSync(join(data, 'recovery.signal'), '')
  recovered = await startCluster({
    data,
    settings: {
      archive_mode: 'off',
      restore_command: `cp ${archive}/%f %p`,
      recovery_target_time: moment,
      recovery_target_action: 'promote',
    },
  })
  const again = recovered
  await expect.poll(() => asked(again, 'teal', 'SELECT pg_is_in_recovery() AS on')).toEqual([{ on: false }])
  const told = await runTeal(['renumber'], childEnvironment(folder, { TEAL_STORE_URL: again.url('teal') }))
  expect(told).toMatchObject({ code: 0, err: '' })
  await verified(again, 'teal')
  await served(again, 'teal', async ({ box, receive }) => {
    const found = await box(['one', 'two'])
    expect(found.validity).toBeGreaterThan(validity)
    expect(found.uids).toEqual([1, 2])
    await receive('other')
    const { uids } = await box(['one', 'two', 'other'])
    expect(uids[2]).toBeGreaterThan(1_000_000)
  })
})

/** The segment before a segment of the log. */
function before(name: string): string {
  return (BigInt(`0x${name}`) - 1n).toString(16).toUpperCase().padStart(24, '0')
}

async function asked(at: Cluster, database: string, text: string): Promise<unknown[]> {
  const client = new pg.Client(at.url(database))
  await client.connect()
  try {
    const result = await client.query(text)
    return Array.isArray(result) ? [] : result.rows
  } finally {
    await client.end()
  }
}

async function verified(at: Cluster, database: string): Promise<void> {
  const seen = await runTeal(['verify'], childEnvironment(folder, { TEAL_STORE_URL: at.url(database) }))
  expect(seen).toMatchObject({ code: 0, err: '' })
}

interface Service {
  user(name: string): Promise<string>
  receive(subject: string, text?: Buffer): Promise<void>
  /** Looks into anna's INBOX: letters of these subjects, whole. */
  box(subjects: readonly string[]): Promise<{ validity: number; uids: number[] }>
}

async function served(at: Cluster, database: string, task: (service: Service) => Promise<void>): Promise<void> {
  const teal: Teal = await startTeal({ dataDir: folder, store: { url: at.url(database) } }, { strict: true })
  const running = accessTo(() => teal)
  try {
    await task({
      user: name => running.user(name),
      async receive(subject, text = Buffer.from('short\r\n')) {
        const lmtp = await openLmtp(running.at('lmtp'))
        const head = `Subject: ${subject}\r\nMessage-ID: <${subject}@example.org>\r\n\r\n`
        const message = Buffer.concat([Buffer.from(head), text])
        expect(await deliver(lmtp, 'x@example.org', ['anna@example.com'], message)).toEqual([
          expect.stringMatching(/^250/),
        ])
        lmtp.close()
      },
      async box(subjects) {
        const client = await Client.login(running.at('imap'), 'anna')
        const lines = await client.ok('SELECT INBOX')
        const validity = Number(/UIDVALIDITY (\d+)/.exec(lines.join('\n'))?.[1])
        const letters = await client.ok('UID FETCH 1:* (UID BODY.PEEK[])')
        expect(letters.map(one => /Subject: (\w+)/.exec(one)?.[1])).toEqual(subjects)
        expect((letters[0] ?? '').length).toBeGreaterThan(large.length)
        client.close()
        return { validity, uids: letters.map(one => Number(/UID (\d+)/.exec(one)?.[1])) }
      },
    })
    expect(await teal.check()).toEqual([])
  } finally {
    await teal.close()
  }
}
