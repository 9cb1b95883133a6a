// Runs the suites of package.json that are named, as .ci/run does, and counts: the last line is "N passed, N failed". Two run at any time,
// in the order in which they are named: what waits much leaves the processors to the other one, and none waits for a suite that takes longer.
//
// A suite that breaks does not stop the next. Few files in which something failed are run once more, alone, at the end: what only a busy
// machine makes fail is named as unsteady, to be mended, and holds up nothing; what fails again has failed.

import { type StdioOptions, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import process from 'node:process'
import { countOf } from './processor.ts'

/** What vitest's JSON says, as far as it is read. */
interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message?: string
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
  }[]
}

interface Outcome {
  readonly passed: number
  readonly failed: number
  /** Files in which something failed, from the project's folder. */
  readonly files: readonly string[]
  /** The tests that failed, or the file where it broke before any. */
  readonly names: readonly string[]
}

/** More than that is no matter of a busy machine. */
const againMax = 8

/** What a suite may take: twice what the longest does on two busy cores with another beside it. What has not ended by then is ended, with all that it started. */
const suiteMsMax = 45 * 60_000

const scripts = (JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }).scripts
const results = mkdtempSync(join(tmpdir(), 'suites-'))
const say = (line: string) => process.stdout.write(`${line}\n`)

let reports = 0

/** Runs a command with the report of vitest in a file, and says how long it took; undefined where there is none. */
async function reported(
  name: string,
  command: readonly string[],
  env: Record<string, string>,
): Promise<Outcome | undefined> {
  reports += 1
  const start = performance.now()
  const file = join(results, `${reports}.json`)
  const [program = '', ...args] = [...command, '--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
  // In a group of its own, so that all of it can be ended.
  const stdio: StdioOptions = ['ignore', 'inherit', 'inherit']
  const count = countOf(`teal-suites-${process.pid}-${reports}`, `${file}.times`)
  const timed = ['-c', count.script, program, program, ...args]
  // What one process has compiled serves the others, and their threads.
  const all = { ...process.env, NODE_COMPILE_CACHE: join(results, 'compiled'), ...env }
  const child = spawn('bash', timed, { stdio, detached: true, env: all })
  const late = setTimeout(() => {
    say(`${command.join(' ')}: ended after ${suiteMsMax / 60_000} minutes`)
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }, suiteMsMax)
  const code = await new Promise<number>(resolve => {
    child.on('error', () => resolve(-1)).on('close', exit => resolve(exit ?? -1))
  })
  clearTimeout(late)
  const took = (performance.now() - start) / 1000
  say(`${name}: ${took.toFixed(0)} s, ${count.seconds().toFixed(0)} s of a processor`)
  count.end()
  const outcome = read(file)
  // Something that is no test went wrong: an error nobody caught, a worker that ended, a process that did not.
  if (outcome !== undefined && code !== 0 && outcome.failed === 0) return undefined
  return outcome
}

function read(file: string): Outcome | undefined {
  let report: Report
  try {
    report = JSON.parse(readFileSync(file, 'utf8')) as Report
  } catch {
    return undefined
  }
  const bad = report.testResults.filter(each => each.status === 'failed')
  const broken = bad.filter(each => each.assertionResults.every(({ status }) => status !== 'failed'))
  const files = bad.map(each => relative(process.cwd(), each.name))
  const names = bad.flatMap(each => {
    const failed = each.assertionResults.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName)
    const where = relative(process.cwd(), each.name)
    return failed.length === 0 ? [where] : failed.map(name => `${where} > ${name}`)
  })
  return { passed: report.numPassedTests, failed: report.numFailedTests + broken.length, files, names }
}

/** What runs some files of a script: its variables, projects and what it leaves out, without the files it names. */
function alone(script: string, files: readonly string[]): { command: string[]; env: Record<string, string> } {
  const words = script.split(' ')
  const at = words.indexOf('vitest')
  const isSet = (word: string) => /^[A-Z_]+=/.test(word)
  const set = words.slice(0, at).filter(isSet)
  const env = Object.fromEntries(set.map(word => word.split('=', 2) as [string, string]))
  const takesOne = (word: string | undefined) => word === '--project' || word === '--exclude'
  const options = words.filter((word, n) => n > at && (takesOne(word) || takesOne(words[n - 1])))
  // As `npm run` does: the Node that was installed with the packages comes before the machine's own.
  const path = `${join(process.cwd(), 'node_modules/.bin')}:${process.env.PATH ?? ''}`
  return { command: ['vitest', 'run', '--no-file-parallelism', ...options, ...files], env: { PATH: path, ...env } }
}

let passed = 0
let failed = 0
const again: { suite: string; files: readonly string[]; failed: number; names: readonly string[] }[] = []

async function run(suite: string): Promise<void> {
  const outcome = await reported(suite, ['npm', 'run', suite, '--'], {})
  if (outcome === undefined) {
    say(`${suite} broke`)
    failed += 1
    return
  }
  passed += outcome.passed
  if (outcome.failed > 0) again.push({ suite, ...outcome })
}

/** Each has several workers, so that two keep two processors busy. */
const atOnce = 2

const waiting = process.argv.slice(2)

async function runInTurn(): Promise<void> {
  for (let suite = waiting.shift(); suite !== undefined; suite = waiting.shift()) await run(suite)
}

await Promise.all(Array.from({ length: atOnce }, runInTurn))

for (const { suite, files, failed: before, names } of again) {
  for (const name of names) say(`failed in ${suite}: ${name}`)
  const { command, env } = alone(scripts[suite] ?? '', files)
  const outcome = files.length > againMax ? undefined : await reported(`${suite}, once more`, command, env)
  if (outcome === undefined || outcome.failed > 0) {
    failed += outcome?.failed ?? before
    for (const name of outcome?.names ?? []) say(`failed again: ${name}`)
  } else {
    passed += before
    say(`unsteady, passed alone: ${names.join('; ')}`)
  }
}

rmSync(results, { recursive: true, force: true })
say(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1
