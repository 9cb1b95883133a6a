// The log: JSON lines on standard output, readable where that is a terminal (pino).
//
// Secrets are masked by key wherever they stand; whoever logs a value under another name masks it first.

import pino from 'pino'
import { prettyLog } from './lazy.ts'

export type Log = pino.Logger

export type LogLevel = 'silent' | 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace'

const secret = ['password', 'existingPassword', 'token', 'accessToken', 'seed', 'secret', 'privateKey', 'authorization']
const paths = secret.flatMap(key => [key, `*.${key}`, `*.*.${key}`])

/** Makes the root log. `level` silent turns it off. */
export function makeLog(level: LogLevel): Log {
  const options: pino.LoggerOptions = {
    level,
    base: undefined,
    redact: { paths, censor: '[masked]' },
    serializers: { error: pino.stdSerializers.err },
    timestamp: pino.stdTimeFunctions.isoTime,
  }
  if (process.stdout.isTTY) return pino(options, prettyLog()({ colorize: true, translateTime: 'SYS:HH:MM:ss.l' }))
  return pino(options, pino.destination({ dest: 1, sync: true }))
}
