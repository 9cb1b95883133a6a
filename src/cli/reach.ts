// How a command reaches a data directory: through the socket of the process that holds it, whoever that is. Where nobody
// does, this process opens the directory, quietly, and talks to its own socket, so that every command is written once.
//
// A command cannot tell the two apart. Nobody but the owner of the directory can reach that socket, so no token is
// asked for.

import { createReadStream, existsSync, readFileSync } from 'node:fs'
import type { Agent, IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import type { Config } from '#config'
import { version } from '#lib/build-info.ts'
import { elapsed, every, sleep } from '#lib/clock.ts'
import { Fault, type FaultCode, faultForms } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { plainHttp } from '#lib/process/lazy.ts'
import { isPipe, type SocketPath, socketPath } from '#lib/process/socket-path.ts'
import { controlFile } from '#store/folder/place.ts'
import { readRun } from './inspect/run.ts'
import { requireData } from './place.ts'

const { transfer } = limits

export interface Reach {
  /** Calls the API; JSON in, JSON out. @throws Fault as the API refuses */
  call<Answer = Record<string, unknown>>(method: Method, path: string, body?: object, role?: string): Promise<Answer>
  /** Sends bytes, and takes JSON. */
  send<Answer>(path: string, body: AsyncIterable<Uint8Array> | Uint8Array, role?: string): Promise<Answer>
  /** Takes bytes as they come. */
  take(method: Method, path: string, body?: object, role?: string): Promise<IncomingMessage>
  /** Whether this process itself holds the directory. */
  readonly own: boolean
  close(): Promise<void>
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/**
 * A service that begins or ends has its directory, and no socket yet or any more: it is waited for, as after `systemctl restart`.
 *
 * @param create makes the data directory where there is none; otherwise that is refused
 * @throws Fault DataDirectoryInUse where somebody holds the directory and cannot be reached, or does not answer
 */
export async function reach(config: Config, create = false): Promise<Reach> {
  const { dataDir } = config
  if (!create) requireData(config)
  const file = controlFile(dataDir)
  const until = elapsed() + transfer.holderMs
  for (;;) {
    const holder = await found(file, dataDir, until)
    if (holder !== undefined) return holder
    try {
      return await openHere(config, file)
    } catch (error) {
      if (!isHeld(error)) throw error
      if (elapsed() > until) throw held(dataDir, error)
    }
    await sleep(transfer.holderAskedMs)
  }
}

/** This process takes the directory and speaks to itself. */
async function openHere(config: Config, file: string): Promise<Reach> {
  // Most of the program, and only who opens a directory needs it.
  const { openQuietly } = await import('#service')
  const { makeLog } = await import('#lib/log.ts')
  return new Client(
    file,
    config.dataDir,
    await openQuietly(config, makeLog(config.log.level === 'info' ? 'warn' : config.log.level, 2)),
  )
}

/** Whether another process has the directory; who shares a database says in words of his own what is to be done, and is not waited for. */
function isHeld(error: unknown): boolean {
  return error instanceof Fault && error.message === new Fault('DataDirectoryInUse').message
}

function held(dataDir: string, cause?: unknown): Fault {
  const text =
    `Another process has ${dataDir} and does not answer: a service that has not begun yet (after an upgrade that may take ` +
    'minutes), or stands still, or a command that needs it alone, as a restore. Look at what it does, and try again'
  return new Fault('DataDirectoryInUse', { text, cause })
}

/** Id of the account that an id, username or address means. @throws Fault UserNotFound */
export async function accountId(to: Reach, identifier: string): Promise<string> {
  const { results } = await to.call<{ results: ({ id: string } | null)[] }>('POST', '/control/accounts', {
    identifiers: [identifier],
  })
  const [found] = results
  if (!found) throw new Fault('UserNotFound', { text: `There is no account ${identifier}` })
  return found.id
}

/** To whom listens at a socket; undefined where nobody does. @throws Fault DataDirectoryInUse where he has not answered at `until` */
async function found(file: string, dataDir: string, until: number): Promise<Client | undefined> {
  if (!isPipe(file) && !existsSync(file)) return
  const client = new Client(file, dataDir)
  const late = new AbortController()
  const watch = every(transfer.holderAskedMs, () => {
    if (elapsed() > until) late.abort()
  })
  try {
    const answer = await client.request('GET', '/control', {}, undefined, late.signal)
    answer.resume()
    if (statusOf(answer) < 500) return client
  } catch {
    // Nobody, or nobody who answers.
  } finally {
    watch.cancel()
  }
  await client.close()
  if (late.signal.aborted) throw held(dataDir)
  return
}

class Client implements Reach {
  readonly #agent: Agent
  readonly #opened: { close(): Promise<void> } | undefined
  readonly #named: SocketPath
  readonly #dataDir: string

  constructor(file: string, dataDir: string, opened?: { close(): Promise<void> }) {
    this.#dataDir = dataDir
    this.#named = socketPath(file)
    // A connection for each call: none that is kept is ended by the other side meanwhile.
    this.#agent = new (plainHttp().Agent)({ keepAlive: false, maxSockets: transfer.connectionsMax })
    this.#opened = opened
  }

  get own(): boolean {
    return this.#opened !== undefined
  }

  async call<Answer>(method: Method, path: string, body?: object, role = 'root'): Promise<Answer> {
    return (await wholeOf(await this.take(method, path, body, role))) as Answer
  }

  async send<Answer>(path: string, body: AsyncIterable<Uint8Array> | Uint8Array, role = 'root'): Promise<Answer> {
    const headers = { 'x-access-token': role, 'content-type': 'application/octet-stream' }
    const answer = await this.request('POST', path, headers, body)
    await refuse(answer, this.own ? undefined : this.#dataDir)
    return (await wholeOf(answer)) as Answer
  }

  async take(method: Method, path: string, body?: object, role = 'root'): Promise<IncomingMessage> {
    const headers = { 'x-access-token': role, ...(body !== undefined && { 'content-type': 'application/json' }) }
    const answer = await this.request(method, path, headers, body === undefined ? undefined : encoded(body))
    await refuse(answer, this.own ? undefined : this.#dataDir)
    return answer
  }

  async close(): Promise<void> {
    this.#agent.destroy()
    this.#named.release()
    await this.#opened?.close()
  }

  /** Sends a request; what is answered may be there before all of the body is taken. */
  request(
    method: Method,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: AsyncIterable<Uint8Array> | Uint8Array | undefined,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    const whole = body === undefined || body instanceof Uint8Array
    const length = whole ? { 'content-length': String(body?.length ?? 0) } : {}
    return new Promise((resolve, reject) => {
      const request = plainHttp().request({
        ...{ method, path, agent: this.#agent, socketPath: this.#named.path },
        ...{ headers: { ...headers, ...length }, timeout: transfer.callMs, signal },
      })
      request.on('response', resolve).on('error', error => reject(goneOr(error)))
      request.on('timeout', () => request.destroy(new Fault('TimedOut')))
      if (whole) request.end(body)
      else {
        const source = Readable.from(body, { objectMode: false }).on('error', error => request.destroy(error))
        request.on('close', () => source.destroy())
        source.pipe(request)
      }
    })
  }
}

/** The JSON of an answer. @throws Fault Stopping where who answers ended on the way */
export async function wholeOf(answer: IncomingMessage): Promise<unknown> {
  try {
    return await json(answer)
  } catch (error) {
    throw goneOr(error)
  }
}

/** What an error says of a service that was there and is no more, killed or ended; others as they are. */
function goneOr(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined || !goneCodes.has(code)) return error
  const text =
    'The service ended before it answered: its log (journalctl -u teal, or log.file) says how, and the log of the machine (dmesg) ' +
    'whether it had too little memory. What it confirmed is stored; when it runs again, run this again'
  return new Fault('Stopping', { text, cause: error })
}

const goneCodes: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ECONNREFUSED', 'ENOENT'])

const encoded = (body: object) => Buffer.from(JSON.stringify(body))
const statusOf = ({ statusCode = 500 }: IncomingMessage) => statusCode

/** A refusal of the API as the fault it was; who runs the service is told where to find what strangers are not told. */
async function refuse(answer: IncomingMessage, served?: string): Promise<void> {
  if (statusOf(answer) < 400) return
  const { error = '', code = '', message = '' } = (await json(answer)) as Record<string, string | undefined>
  const known = Object.hasOwn(faultForms, code) ? (code as FaultCode) : 'InternalError'
  // What this process writes to its log stands above.
  const more = served === undefined ? '' : hintOn(known, served)
  throw new Fault(known, { text: `${error || message}${more}`, status: statusOf(answer) })
}

/** What else to say of a refusal by the service of a data directory. */
function hintOn(code: FaultCode, dataDir: string): string {
  if (code === 'StorageUnavailable') return '; the log says why (teal log), teal doctor whether its disk is full'
  const { version: other = version } = readRun(dataDir) ?? {}
  if (code !== 'ResourceNotFound' || other === version) return ''
  return `: the service that runs is of version ${other}, this command of ${version}. Restart the service, and run this again`
}

/** A file or, for `-`, standard input, as a stream. */
export function inputStream(file: string): AsyncIterable<Buffer> {
  return file === '-' ? process.stdin : createReadStream(file)
}

/**
 * A secret from a file or, for `-`, from standard input; without its line end.
 *
 * @throws Fault InputValidationError where it is empty, as what a program that failed leaves: an empty password is none
 */
export function readSecret(file: string): string {
  const secret = readFileSync(file === '-' ? 0 : file, 'utf8').replace(/\r?\n$/, '')
  if (secret !== '') return secret
  const text = `${file === '-' ? 'The standard input' : file} is empty; nothing was changed`
  throw new Fault('InputValidationError', { text })
}
