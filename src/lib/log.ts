// The log: JSON lines on standard output or in a file, readable where that is a terminal (pino).
//
// Control characters of strangers stand as escapes, also those that JSON leaves as they are, since people read logs on terminals.
// Secrets are masked by key wherever they stand; whoever logs a value under another name masks it first. A log that cannot be
// written (a full disk, a reader that went away) ends nothing: lines are kept up to a bound, then dropped, and those that
// were kept come when there is room again.

import pino from 'pino'
import { Fault } from './fault.ts'
import { harmless, harmlessInJson, oneLine } from './journal/harmless.ts'
import { LogTail } from './journal/tail.ts'
import { limits } from './limits.ts'
import { prettyLog } from './process/lazy.ts'

export type Log = pino.Logger

export type LogLevel = 'silent' | 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace'

const secret: ReadonlySet<string> = new Set([
  ...['password', 'existingPassword', 'token', 'accessToken', 'seed', 'secret', 'privateKey', 'authorization'],
])
/** How deep it is looked for. */
const maskDepth = 3

/** How lines are laid out, and where they go. */
export interface LogPlace {
  /** `auto`: readable on a terminal, JSON elsewhere. */
  readonly format?: 'auto' | 'json' | 'readable'
  /** Instead of the output; '' for none. */
  readonly file?: string
}

/** How every line is made, whoever writes it: `level` and `time` come first, as words. */
export function logOptions(level: LogLevel): pino.LoggerOptions {
  return {
    level,
    base: undefined,
    serializers: { error, err: error },
    formatters: { level: label => ({ level: label }), log: fields => masked(fields, maskDepth) },
    timestamp: pino.stdTimeFunctions.isoTime,
  }
}

type Destination = ReturnType<typeof pino.destination>

/** Of logs that are files. */
const files = new WeakMap<Log, Destination>()

const tails = new WeakMap<Log, LogTail>()

/**
 * Makes the root log. `level` silent turns it off.
 *
 * @param output standard output, or standard error for commands whose output is read by programs
 * @throws Fault ConfigInvalid for a file that cannot be written
 */
export function makeLog(level: LogLevel, output: 1 | 2 = 1, { format = 'auto', file = '' }: LogPlace = {}): Log {
  const tail = new LogTail()
  const options = { ...logOptions(level), hooks: { streamWrite: kept(tail) } }
  const destination = open(file === '' ? output : file)
  // There is nobody to tell.
  destination.on('error', () => {})
  const terminal = file === '' && (output === 1 ? process.stdout : process.stderr).isTTY === true
  const log =
    format === 'json' || (format === 'auto' && !terminal)
      ? pino(options, destination)
      : readable(options, destination, terminal)
  if (file !== '') files.set(log, destination)
  tails.set(log, tail)
  return log
}

/** The last lines of a log that `makeLog` made. */
export function tailOf(log: Log): LogTail | undefined {
  return tails.get(log)
}

function kept(tail: LogTail) {
  return (line: string) => {
    tail.add(line)
    return line
  }
}

/** Goes on in a file of the same name where that was moved away; nothing for a log that is no file. @throws the system's errors */
export function reopenLog(log: Log): void {
  files.get(log)?.reopen()
}

function open(dest: string | number): Destination {
  try {
    return pino.destination({ dest, sync: true, maxLength: limits.log.waitingBytesMax, mode: fileMode })
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    throw new Fault('ConfigInvalid', { text: `log.file: ${dest} cannot be written to (${code})`, cause: error })
  }
}

const fileMode = 0o640

function readable(options: pino.LoggerOptions, destination: Destination, colorize: boolean): Log {
  // It stands among the words in front, where all others are printed as JSON.
  const customPrettifiers = { name: (name: unknown) => oneLine(String(name)) }
  const stream = prettyLog()({ colorize, translateTime: 'SYS:HH:MM:ss.l', destination, customPrettifiers })
  stream.on('error', () => {})
  return pino(options, stream)
}

/** An error as fields; what a library has put on it is masked, too. Its stack is printed with the lines it has. */
function error(given: Error): object {
  const shown = masked(pino.stdSerializers.err(given), maskDepth - 1)
  return typeof shown.stack === 'string' ? { ...shown, stack: harmless(shown.stack) } : shown
}

/** The same object, or a copy where it holds secrets: pino's own masking costs ten times the line. */
function masked<Fields extends object>(fields: Fields, depth: number): Fields {
  let copy: Record<string, unknown> | undefined
  for (const [key, value] of Object.entries(fields)) {
    const shown = maskedValue(key, value, depth)
    if (shown === value) continue
    copy ??= (Array.isArray(fields) ? [...fields] : { ...fields }) as Record<string, unknown>
    copy[key] = shown
  }
  return (copy as Fields | undefined) ?? fields
}

function maskedValue(key: string, value: unknown, depth: number): unknown {
  if (secret.has(key)) return '[masked]'
  if (typeof value === 'string') return harmlessInJson(value)
  // Errors have their turn with the serializer.
  const opaque = typeof value !== 'object' || value === null || value instanceof Error || ArrayBuffer.isView(value)
  return opaque || depth === 1 ? value : masked(value, depth - 1)
}
