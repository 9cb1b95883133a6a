// Moving a Maildir in: as fast as the same messages come over LMTP or nearly so, in bounded memory however many there are.
//
// Measured where the service runs and where nobody holds the data directory; both times a fresh directory. LMTP runs right
// before and right after, with the same generator. What counts is the whole command, its start included.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadNote, runLoad } from '../child.ts'
import { type CommandResult, peakBytes, runCommand } from '../command.ts'
import type { LoadResult } from '../load/job.ts'
import { fixedMessages, stamp } from '../load/messages.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, type Service, startService } from '../service.ts'

const size = 2048
const connections = 64
const users = 10
const shareOfLmtp = 0.6
const peakMegabytes = 300

export async function importSection(plan: Plan): Promise<Row[]> {
  const folder = makeFolder()
  try {
    const maildir = makeMaildir(join(folder, 'maildir'), plan.imported)
    const lmtp = await startService(join(folder, 'lmtp'))
    const recipients = (await makeUsers(lmtp, users)).map(user => user.address)
    const deliver = () => deliveries(lmtp, recipients, plan)
    await deliver()
    const before = await deliver()
    const served = await intoService(join(folder, 'served'), maildir, plan.imported)
    const between = await deliver()
    const alone = await intoFolder(join(folder, 'alone'), maildir, plan.imported)
    const after = await deliver()
    const lmtpPeak = peakBytes(lmtp.pid)
    await lmtp.stop()
    return [
      rateRow('into the running service', served.command, plan.imported, [before, between]),
      rateRow('with nobody serving', alone, plan.imported, [between, after]),
      peakRow('the service', served.peak, plan.imported, `its client ${megabytes(served.command.peak)} MB`),
      peakRow('the command alone', alone.peak, plan.imported, `a service under LMTP ${megabytes(lmtpPeak)} MB`),
    ]
  } finally {
    removeFolder(folder)
  }
}

function makeMaildir(root: string, count: number): string {
  for (const part of ['cur', 'new', 'tmp']) mkdirSync(join(root, part), { recursive: true })
  const pool = fixedMessages(size, 200, 1)
  for (let index = 0; index < count; index++) {
    const message = pool[index % pool.length]
    if (message !== undefined)
      writeFileSync(join(root, `cur/${1.7e9 + index}.M${index}.bench:2,S`), stamp(message, 'maildir'))
  }
  return root
}

function deliveries(service: Service, recipients: readonly string[], plan: Plan): Promise<LoadResult> {
  const job = { kind: 'deliver', protocol: 'lmtp', ...service.listener('lmtp') } as const
  return runLoad({ ...job, recipients, size, seed: 1, connections, ms: plan.ms / 2 })
}

async function intoService(dataDir: string, maildir: string, count: number) {
  const service = await startService(dataDir)
  const [user] = await makeUsers(service, 1)
  const command = await imported(['import-maildir', `${user?.name}:${maildir}`, '--json'], dataDir, count)
  const peak = peakBytes(service.pid)
  await service.stop()
  return { command, peak }
}

async function intoFolder(dataDir: string, maildir: string, count: number): Promise<CommandResult> {
  mkdirSync(dataDir, { recursive: true })
  await runCommand(['user', 'add', 'anna', '--address', 'anna@bench.test', '--generate', '--create'], dataDir)
  return imported(['import-maildir', `anna:${maildir}`, '--json'], dataDir, count)
}

async function imported(words: readonly string[], dataDir: string, count: number): Promise<CommandResult> {
  const result = await runCommand(words, dataDir)
  const answer = JSON.parse(result.out) as { imported: number }
  if (answer.imported !== count) throw new Error(`only ${answer.imported} of ${count} were imported`)
  return result
}

function rateRow(where: string, { seconds }: CommandResult, count: number, lmtp: readonly LoadResult[]): Row {
  const value = lmtp.reduce((sum, { rate }) => sum + rate, 0) / lmtp.length
  return {
    what: `import of ${count} messages of 2 KB ${where}`,
    figure: count / seconds,
    unit: '/s',
    bound: { name: 'LMTP', value },
    wanted: { least: shareOfLmtp },
    note: `LMTP ${lmtp.map(loadNote).join(', ')}`,
  }
}

function peakRow(what: string, peak: number, count: number, note: string): Row {
  const figure = megabytes(peak)
  return {
    what: `  most memory of ${what}, ${count} messages`,
    figure,
    unit: 'MB',
    wanted: { most: peakMegabytes },
    note,
  }
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20)
}
