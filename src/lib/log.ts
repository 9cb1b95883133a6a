// The log: JSON lines on standard output, readable where that is a terminal (pino).
//
// Secrets are masked by key wherever they stand; whoever logs a value under another name masks it first. A log that cannot be
// written (a full disk, a reader that went away) ends nothing: lines are kept up to a bound, then dropped, and those that
// were kept come when there is room again.

import pino from 'pino'
import { limits } from './limits.ts'
import { prettyLog } from './process/lazy.ts'

export type Log = pino.Logger

export type LogLevel = 'silent' | 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace'

const secret = ['password', 'existingPassword', 'token', 'accessToken', 'seed', 'secret', 'privateKey', 'authorization']
const paths = secret.flatMap(key => [key, `*.${key}`, `*.*.${key}`])

/** How every line is made, whoever writes it. */
export function logOptions(level: LogLevel): pino.LoggerOptions {
  return {
    level,
    base: undefined,
    redact: { paths, censor: '[masked]' },
    serializers: { error: pino.stdSerializers.err },
    timestamp: pino.stdTimeFunctions.isoTime,
  }
}

/**
 * Makes the root log. `level` silent turns it off.
 *
 * @param output standard output, or standard error for commands whose output is read by programs
 */
export function makeLog(level: LogLevel, output: 1 | 2 = 1): Log {
  const options = logOptions(level)
  const destination = pino.destination({ dest: output, sync: true, maxLength: limits.log.waitingBytesMax })
  // There is nobody to tell.
  destination.on('error', () => {})
  const terminal = (output === 1 ? process.stdout : process.stderr).isTTY
  if (!terminal) return pino(options, destination)
  const stream = prettyLog()({ colorize: true, translateTime: 'SYS:HH:MM:ss.l', destination })
  stream.on('error', () => {})
  return pino(options, stream)
}
