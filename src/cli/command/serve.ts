// `teal serve`: runs the service until a signal ends it. The first SIGTERM or SIGINT drains and stops with exit code 0; a
// second one stops at once, which loses nothing that was acknowledged. SIGHUP reads again what can be read again: the log
// level of the configuration, certificates in files, the file of the log. Others change nothing; SIGUSR1 would open a debugger otherwise.

import { Command } from 'commander'
import { after } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { type Log, makeLog, reopenLog } from '#lib/log.ts'
import { boundYoung, collectWhenQuiet, keepWarm } from '#lib/process/heap.ts'
import { loadForMail } from '#lib/process/lazy.ts'
import { optimizeEarly } from '#lib/process/optimize.ts'
import { lookAtPairs } from '#net/tls/pair-files.ts'
import { lockDirectory } from '#store/folder/directory-lock.ts'
import { type ConfigOptions, configHere, withConfig } from '../options.ts'

export function serveCommand(): Command {
  return withConfig(new Command('serve'))
    .addHelpText(
      'after',
      '\nExamples:\n  teal serve\n  teal serve --config teal.toml\n  teal serve --set api.port=8081',
    )
    .action(serve)
}

/** How long after its first quiet second a service is taken to have dropped all that only its start needed, milliseconds. */
const threadsSettleMs = 2000

/** How long after the start what odd mail needs is loaded: before anything is quiet, and when few are there to be halted by it, milliseconds. */
const oddMailMs = 500

async function serve(options: ConfigOptions): Promise<void> {
  const config = configHere(options)
  const log = makeLog(config.log.level, 1, config.log)
  let stopping = false
  let stop: (() => void) | undefined
  const stopped = new Promise<void>(resolve => {
    stop = resolve
  })
  process.on('SIGHUP', () => reload(options, log))
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.on(signal, () => log.debug({ signal }, 'ignored'))
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGQUIT'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(1)
      stopping = true
      log.info({ signal }, 'stopping')
      stop?.()
    })
  }
  boundYoung()
  // Its thread gets ready while the rest of the program is read.
  const lock = lockDirectory(config)
  const { openService } = await import('#service').catch(async error => {
    // The thread would keep the process, and so the lock of the directory.
    await lock.thread?.thread.end()
    throw error
  })
  const service = await openService(config, log, { lock }).catch(error => {
    throw withAdvice(error)
  })
  optimizeEarly()
  // The other threads find their quiet second at about the same time, and they too drop what only the start needed.
  collectWhenQuiet(() => after(threadsSettleMs, keepWarm))
  after(oddMailMs, loadForMail)
  if (!stopping) await stopped
  await service.close()
  log.info('stopped')
  process.exit(0)
}

/** What to do about a port that another program has. */
function withAdvice(error: unknown): unknown {
  if (!(error instanceof Fault) || error.code !== 'PortInUse') return error
  const text = `${error.message}: stop the program that has it (ss -ltnp names it), or choose another port in the settings`
  return new Fault('PortInUse', { text, cause: error })
}

/** What fails keeps nothing else from being read: a certificate is not due to a log whose folder is gone. */
function reload(options: ConfigOptions, log: Log): void {
  const reason = (error: unknown) => String((error as Error).message)
  try {
    const { level } = configHere(options).log
    log.level = level
    try {
      reopenLog(log)
    } catch (error) {
      log.error({ reason: reason(error) }, 'the file of the log cannot be opened again: lines go on where they went')
    }
    lookAtPairs()
    log.info({ logLevel: level }, 'read the log level and certificates in files again; anything else takes a restart')
  } catch (error) {
    log.error({ reason: reason(error) }, 'the configuration is not valid: nothing was read again')
  }
}
