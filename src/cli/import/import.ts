// What all imports of mail have in common: pairs of an account and a source, all found before anything is written, some
// accounts at once, a summary at the end.
//
// A pair that breaks off does not stop the others; asked again, only what is missing is moved.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { collectGarbage } from '#lib/process/heap.ts'
import { type ImportCounters, newCounters } from '../load.ts'
import { type ConfigOptions, configFrom } from '../options.ts'
import { Progress, print } from '../print.ts'
import { type Reach, reach } from '../reach.ts'

export interface ImportOptions extends ConfigOptions {
  readonly uploaders?: string
  readonly json?: boolean
}

/** Where mail comes from. */
export interface Source {
  /** Refuses what cannot be one, before anything is written. */
  check(): Promise<void>
  /** Moves everything into the account. */
  run(to: Reach, user: string, counters: ImportCounters, progress: Progress): Promise<void>
}

interface Job {
  readonly identifier: string
  readonly user: string
  readonly source: Source
  readonly counters: ImportCounters
  failure?: string
}

/** Exit code where everything was done but some messages could not be moved. */
const partly = 3

/** Runs an import of pairs `<user>:<path>`. */
export async function runImports(
  pairs: readonly string[],
  options: ImportOptions,
  sourceOf: (path: string) => Source,
): Promise<void> {
  const config = configFrom(options)
  const uploaders = options.uploaders === undefined ? config.import.uploaders : Number(options.uploaders)
  if (!Number.isSafeInteger(uploaders) || uploaders < 1 || uploaders > 64) {
    throw new Fault('InputValidationError', { text: '--uploaders must be a number from 1 to 64' })
  }
  const named = pairs.map(pair => {
    const colon = pair.indexOf(':')
    if (colon < 1 || colon === pair.length - 1) {
      throw new Fault('InputValidationError', { text: `${pair} is not of the form <user>:<path>` })
    }
    return { identifier: pair.slice(0, colon), source: sourceOf(pair.slice(colon + 1)) }
  })
  for (const { source } of named) await source.check()
  const to = await reach(config)
  try {
    if (to.own) collectGarbage()
    const jobs = await resolved(to, named)
    const progress = new Progress('messages', options.json === true)
    await inTurns(jobs, uploaders, to, progress)
    progress.end()
    report(jobs, options.json)
  } finally {
    await to.close()
  }
}

/** Finds every account. @throws Fault UserNotFound naming all that are not there */
async function resolved(to: Reach, named: readonly { identifier: string; source: Source }[]): Promise<Job[]> {
  const found: ({ id: string } | null)[] = []
  for (let at = 0; at < named.length; at += limits.transfer.keysMax) {
    const identifiers = named.slice(at, at + limits.transfer.keysMax).map(({ identifier }) => identifier)
    const form = { identifiers }
    found.push(...(await to.call<{ results: ({ id: string } | null)[] }>('POST', '/control/accounts', form)).results)
  }
  const unknown = named.filter((_, index) => !found[index]).map(({ identifier }) => identifier)
  if (unknown.length > 0) {
    throw new Fault('UserNotFound', { text: `There is no account ${unknown.join(', ')}; nothing was imported` })
  }
  return named.map(({ identifier, source }, index) => {
    return { identifier, source, user: found[index]?.id ?? '', counters: newCounters() }
  })
}

/** Runs jobs, `uploaders` at once; one that breaks off does not stop the others. */
async function inTurns(jobs: readonly Job[], uploaders: number, to: Reach, progress: Progress): Promise<void> {
  const waiting = [...jobs]
  const uploader = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      try {
        await job.source.run(to, job.user, job.counters, progress)
      } catch (error) {
        job.failure = error instanceof Error ? error.message : String(error)
        progress.note(`${job.identifier}: ${job.failure}`)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(uploaders, jobs.length) }, uploader))
}

function report(jobs: readonly Job[], json: boolean | undefined): void {
  for (const { identifier, user, counters, failure } of jobs) {
    const { imported, known, skipped, failed } = counters
    const counts = `${imported} imported, ${known} there already, ${skipped} passed over, ${failed} failed`
    const text =
      failure === undefined ? `${identifier}: ${counts}` : `${identifier}: broken off (${failure}); ${counts}`
    print(json, { identifier, user, ...counters, ...(failure !== undefined && { error: failure }) }, text)
  }
  if (jobs.some(({ failure }) => failure !== undefined)) process.exitCode = 1
  else if (jobs.some(({ counters }) => counters.failed > 0)) process.exitCode = partly
}
