// A backup beside deliveries: what a copy of everything costs those who send and receive meanwhile.
//
// The store is filled with messages that cannot be packed, so that its bytes are those of the disk. Deliveries are
// measured with nothing else and with backups one after the other, each into a fresh folder, in turn.

import { randomBytes } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { prepare } from '#actors/delivery/prepare.ts'
import { appendMessage } from '#actors/mailbox/append.ts'
import { loadConfig } from '#config'
import { openCore } from '#core'
import { makeLog } from '#lib/log.ts'
import { databaseFile } from '#store/folder/place.ts'
import { loadNote, runLoad } from '../child.ts'
import { runCommand } from '../command.ts'
import type { LoadResult } from '../load/job.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, type Service, startService, type User } from '../service.ts'

const size = 2048
const connections = 16
const users = 10
const rounds = 3
const shareOfQuiet = 0.8

/** Bytes of each message of the store: its parts are rows, not files. */
const storedBytes = 150_000
const inFlight = 16

export async function backupSection(plan: Plan): Promise<Row[]> {
  const folder = makeFolder()
  const dataDir = join(folder, 'data')
  try {
    const first = await startService(dataDir)
    const made = await makeUsers(first, users)
    await first.stop()
    await fill(dataDir, made, plan.stored)
    const service = await startService(dataDir)
    const deliver = () => deliveries(service, made, plan.ms / 2)
    await deliver()
    const quiet: LoadResult[] = []
    const beside: LoadResult[] = []
    const seconds: number[] = []
    for (let round = 0; round < rounds; round++) {
      quiet.push(await deliver())
      const backups = keepBackingUp(dataDir, folder, seconds)
      beside.push(await deliver())
      await backups.end()
      // Not meanwhile: giving large files back is work for the disk, too.
      for (const name of readdirSync(folder)) if (name.startsWith('backup-')) removeFolder(join(folder, name))
    }
    const megabytes = statSync(databaseFile(dataDir)).size / 2 ** 20
    await service.stop()
    return [row(median(beside), median(quiet), megabytes, seconds)]
  } finally {
    removeFolder(folder)
  }
}

function row(beside: LoadResult, quiet: LoadResult, megabytes: number, seconds: readonly number[]): Row {
  const mean = seconds.reduce((sum, one) => sum + one, 0) / seconds.length
  return {
    what: `LMTP 2 KB, ${connections} connections, beside backups of ${Math.round(megabytes)} MB`,
    figure: beside.rate,
    unit: '/s',
    bound: { name: 'without', value: quiet.rate },
    wanted: { least: shareOfQuiet },
    note: `${loadNote(beside)}; without ${loadNote(quiet)}; a backup took ${mean.toFixed(1)} s`,
  }
}

/** Takes backups until it is told to end. */
function keepBackingUp(dataDir: string, folder: string, seconds: number[]): { end(): Promise<void> } {
  let ended = false
  const run = async () => {
    while (!ended) {
      const to = join(folder, `backup-${seconds.length}`)
      seconds.push((await runCommand(['backup', to], dataDir)).seconds)
    }
  }
  const running = run()
  running.catch(() => {})
  return {
    end() {
      ended = true
      return running
    },
  }
}

/** Stores about `bytes` bytes, in a directory that nobody serves. */
async function fill(dataDir: string, made: readonly User[], bytes: number): Promise<void> {
  const config = loadConfig({ flags: { dataDir, hostname: 'bench.test', log: { level: 'error' } } })
  const core = await openCore(config, makeLog('error'))
  let left = Math.ceil(bytes / storedBytes)
  const worker = async () => {
    while (left > 0) {
      const number = left--
      const received = await core.bodies.receive(messageOf(number))
      const prepared = await prepare(received, core.sequence)
      const handle = core.system.handle(made[number % made.length]?.id ?? '')
      await handle.run(appendMessage, {
        ...{ prepared, to: 'INBOX', prefix: '', flags: 0, keywords: [], meta: { source: 'import' } },
        ...{ once: false, limited: false, silent: true },
      })
      await received.discard()
    }
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
  await core.close()
}

function messageOf(number: number): Buffer {
  const data = randomBytes(storedBytes).toString('base64').replace(/.{76}/g, '$&\r\n')
  const head = `From: a@example.net\r\nMessage-ID: <stored.${number}@example.net>\r\nMIME-Version: 1.0\r\n`
  const type = 'Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n'
  return Buffer.from(`${head}${type}\r\n${data}\r\n`, 'latin1')
}

function deliveries(service: Service, made: readonly User[], ms: number): Promise<LoadResult> {
  const recipients = made.map(({ address }) => address)
  const job = { kind: 'deliver', protocol: 'lmtp', ...service.listener('lmtp') } as const
  return runLoad({ ...job, recipients, size, seed: 1, connections, ms })
}

function median(results: readonly LoadResult[]): LoadResult {
  const middle = results.toSorted((a, b) => a.rate - b.rate)[Math.floor(results.length / 2)]
  if (middle === undefined) throw new Error('nothing was measured')
  return middle
}
