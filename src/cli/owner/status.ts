// `teal status` and `teal log`: whether the service works and what it holds; and the lines of its log that tell of somebody.
//
// `log` reads what there is: the file of `log.file`, what a running service has in memory, or standard input for a log that is kept elsewhere.

import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { Command } from 'commander'
import type { Config } from '#config'
import { Fault } from '#lib/fault.ts'
import { harmlessInJson } from '#lib/journal/harmless.ts'
import { limits } from '#lib/limits.ts'
import type { ClusterState } from '#store/cluster/state.ts'
import { lookAtDisks } from '../inspect/machine.ts'
import { readRun } from '../inspect/run.ts'
import { type ConfigOptions, configFrom, withConfig } from '../options.ts'
import { print } from '../print.ts'
import { reach } from '../reach.ts'
import { commandOf, group, task } from './task.ts'

interface Health {
  readonly success: boolean
  readonly version: string
  /** What fails. */
  readonly message?: string
}

const status = task({
  name: 'status',
  example: 'teal status --json',
  codes: '0 it runs and works, 1 it does not',
  async run(to, _words, options, say) {
    const { dataDir } = configFrom(options)
    const run = readRun(dataDir)
    const health = await to.call<Health>('GET', '/health').catch((error: unknown): Health => {
      if (!(error instanceof Fault)) throw error
      return { success: false, version: run?.version ?? '', message: error.message }
    })
    const { message = '' } = health
    const { total: users } = await to.call<{ total: number }>('GET', '/users?limit=1')
    const { waiting } = await to.call<{ waiting: number }>('GET', '/outbound')
    const listeners = Object.entries(run?.listeners ?? {}).map(([name, { host, port }]) => `${name} ${host}:${port}`)
    const full = lookAtDisks(dataDir)
      .filter(({ state }) => state === 'warning' || state === 'wrong')
      .map(({ text, advice }) => [text, advice].join(' '))
      .join('\n')
    const shown = {
      running: run !== undefined,
      works: health.success,
      version: health.version,
      users,
      waiting,
      ...(message !== '' && { message }),
      ...(full !== '' && { disk: full }),
    }
    const lines = [
      run === undefined ? 'does not run' : `runs as process ${run.pid}, version ${run.version}`,
      health.success ? 'works: data and cache can be read and written' : `does not work: ${message}; the log says why`,
      ...(full === '' ? [] : [full]),
      `${users} accounts, ${waiting} recipients wait to be sent to`,
      ...listeners.map(one => `listens: ${one}`),
    ]
    say({ ...shown, listeners: run?.listeners ?? {} }, lines.join('\n'))
    if (run === undefined || !health.success) process.exitCode = 1
  },
})

const clusterStatus = task({
  name: 'status',
  description: 'Say which nodes there are, how many shards each has, and how far it is behind',
  example: 'teal cluster status',
  async run(to, _words, _options, say) {
    const { cluster } = await to.call<{ cluster?: ClusterState }>('GET', '/health')
    if (cluster === undefined) return say({}, 'this service is alone: cluster.node is not set')
    const lines = cluster.nodes.map(({ name, alive, leaving, shards, silentMs, renewedMs, behind }) => {
      const state = leaving ? 'left' : alive ? 'is there' : `was heard of last ${Math.ceil(silentMs / 1000)} s ago`
      const lag = alive ? `, renewed ${(renewedMs / 1000).toFixed(1)} s ago, ${behind} notices behind` : ''
      return `${name}${name === cluster.node ? ' (this one)' : ''}: ${state}, ${shards} shards${lag}`
    })
    say(
      cluster,
      [...lines, ...(cluster.connected ? [] : ['there is no line to the others: look after NATS'])].join('\n'),
    )
  },
})

interface LogOptions extends ConfigOptions {
  readonly event?: string
  readonly since?: string
  readonly file?: string
  readonly json?: boolean
}

function logCommand(): Command {
  return withConfig(new Command('log'))
    .argument('[words...]', 'what a line must hold, all of them')
    .option('-e, --event <name>', 'only these: message, refused, attempt, login-failed, session, left-out')
    .option('--since <time>', 'only from this time on (2026-11-23, or 2026-11-23T08:00:00Z)')
    .option(
      '-f, --file <file>',
      'file to read; - is standard input; unset: log.file, or the last lines of the running service',
    )
    .option('--json', 'print the lines as they are')
    .addHelpText(
      'after',
      '\nExamples:\n  teal log --event message anna@example.com\n  journalctl -u teal -o cat | teal log --file - --event login-failed',
    )
    .action(log)
}

async function log(words: readonly string[], options: LogOptions): Promise<void> {
  const config = configFrom(options)
  const file = options.file ?? config.log.file
  const since = options.since === undefined ? '' : Date.parse(options.since)
  if (Number.isNaN(since)) throw new Fault('InputValidationError', { text: `${options.since} is no time` })
  const from = since === '' ? '' : new Date(since).toISOString()
  const wanted = words.map(word => word.toLowerCase())
  for await (const line of file === '' ? remembered(config) : written(file)) {
    const low = line.toLowerCase()
    if (!wanted.every(word => low.includes(word))) continue
    const found = parsed(line)
    if (found === undefined || (options.event !== undefined && found.event !== options.event)) continue
    if (from !== '' && String(found.time) < from) continue
    if (options.json === true) process.stdout.write(`${harmlessInJson(line)}\n`)
    else print(false, found, readable(found))
  }
}

/** Lines of a file, or of standard input. */
async function* written(file: string): AsyncGenerator<string> {
  const input = file === '-' ? process.stdin : createReadStream(file)
  // What cannot be opened is told before anything is read.
  if (file !== '-') await once(input, 'open')
  yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
}

interface Remembered {
  readonly number: number
  readonly fields: Readonly<Record<string, unknown>>
}

/** The last lines that the running service has in memory, the oldest first. */
async function* remembered(config: Config): AsyncGenerator<string> {
  if (readRun(config.dataDir) === undefined) {
    const text = 'The log is not kept in a file, and no service runs: journalctl -u teal -o cat | teal log --file - …'
    throw new Fault('InputValidationError', { text })
  }
  const to = await reach(config)
  try {
    const lines: Remembered[] = []
    let more = true
    while (more) {
      const before = lines.length === 0 ? '' : `&before=${lines.at(-1)?.number}`
      const path = `/log?limit=${limits.log.pageLinesMax}${before}`
      const page = await to.call<{ results: Remembered[]; more: boolean }>('GET', path)
      lines.push(...page.results)
      more = page.more && page.results.length > 0
    }
    for (const { number: _number, fields, ...line } of lines.reverse()) yield JSON.stringify({ ...line, ...fields })
  } finally {
    await to.close()
  }
}

type Line = Readonly<Record<string, unknown>>

function parsed(line: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(line.slice(Math.max(0, line.indexOf('{'))))
    return typeof value === 'object' && value !== null ? (value as Line) : undefined
  } catch {
    return undefined
  }
}

/** Control characters of strangers do nothing on a terminal: JSON has them escaped. */
function readable({ level, time, msg, ...rest }: Line): string {
  const fields = Object.entries(rest).map(([name, value]) => {
    const text = JSON.stringify(value)
    return `${name}=${typeof value === 'string' && /^[\w.@:/+-]+$/.test(value) ? value : text}`
  })
  return `${String(time)} ${String(level).padEnd(5)} ${JSON.stringify(msg ?? '').slice(1, -1)}  ${fields.join(' ')}`
}

export const statusCommands = () => [commandOf(status), group('cluster', [clusterStatus]), logCommand()]
