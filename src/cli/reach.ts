// How a command reaches a data directory: through the socket of the process that holds it, whoever that is. Where nobody
// does, this process opens the directory, quietly, and talks to its own socket, so that every command is written once.
//
// A command cannot tell the two apart. Nobody but the owner of the directory can reach that socket, so no token is
// asked for.

import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import type { Config } from '#config'
import { Fault, type FaultCode, faultForms } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { makeLog } from '#lib/log.ts'
import { undici } from '#lib/process/lazy.ts'
import { isPipe, type SocketPath, socketPath } from '#lib/process/socket-path.ts'
import { controlFile } from '#store/folder/place.ts'
import { requireData } from './place.ts'

export interface Reach {
  /** Calls the API; JSON in, JSON out. @throws Fault as the API refuses */
  call<Answer = Record<string, unknown>>(method: Method, path: string, body?: object, role?: string): Promise<Answer>
  /** Sends bytes, and takes JSON. */
  send<Answer>(path: string, body: AsyncIterable<Uint8Array> | Uint8Array, role?: string): Promise<Answer>
  /** Takes bytes as they come. */
  take(method: Method, path: string, body?: object, role?: string): Promise<AsyncIterable<Buffer>>
  /** Whether this process itself holds the directory. */
  readonly own: boolean
  close(): Promise<void>
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/**
 * @param create makes the data directory where there is none; otherwise that is refused
 * @throws Fault DataDirectoryInUse where somebody holds the directory and cannot be reached
 */
export async function reach(config: Config, create = false): Promise<Reach> {
  const { dataDir } = config
  if (!create) requireData(config)
  const file = controlFile(dataDir)
  if (await answers(file)) return new Client(file, undefined)
  // Most of the program, and only who opens a directory needs it.
  const { openQuietly } = await import('#service')
  try {
    const opened = await openQuietly(config, makeLog(config.log.level === 'info' ? 'warn' : config.log.level, 2))
    return new Client(file, opened)
  } catch (error) {
    // Somebody may have taken it in between.
    if (error instanceof Fault && error.code === 'DataDirectoryInUse' && (await answers(file))) {
      return new Client(file, undefined)
    }
    throw error
  }
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

/** Whether somebody listens at a socket. */
async function answers(file: string): Promise<boolean> {
  if (!isPipe(file) && !existsSync(file)) return false
  const named = socketPath(file)
  const client = new (undici().Client)('http://control', { socketPath: named.path })
  try {
    const { statusCode, body } = await client.request({ method: 'GET', path: '/control' })
    await body.dump()
    return statusCode < 500
  } catch {
    return false
  } finally {
    await client.destroy()
    named.release()
  }
}

type Pool = InstanceType<ReturnType<typeof undici>['Pool']>

class Client implements Reach {
  readonly #pool: Pool
  readonly #opened: { close(): Promise<void> } | undefined
  readonly #named: SocketPath

  constructor(file: string, opened: { close(): Promise<void> } | undefined) {
    this.#named = socketPath(file)
    this.#pool = new (undici().Pool)('http://control', {
      socketPath: this.#named.path,
      connections: limits.transfer.connectionsMax,
      headersTimeout: limits.transfer.callMs,
      bodyTimeout: limits.transfer.callMs,
      // The other side ends connections that are idle for ten seconds.
      keepAliveTimeout: 4000,
      keepAliveMaxTimeout: 4000,
    })
    this.#opened = opened
  }

  get own(): boolean {
    return this.#opened !== undefined
  }

  async call<Answer>(method: Method, path: string, body?: object, role = 'root'): Promise<Answer> {
    const answer = await this.#request(method, path, body, role)
    return (await answer.body.json()) as Answer
  }

  async send<Answer>(path: string, body: AsyncIterable<Uint8Array> | Uint8Array, role = 'root'): Promise<Answer> {
    const answer = await this.#pool.request({
      ...{ method: 'POST', path },
      headers: { 'x-access-token': role, 'content-type': 'application/octet-stream' },
      body: body instanceof Uint8Array ? body : Readable.from(body, { objectMode: false }),
    })
    await refuse(answer)
    return (await answer.body.json()) as Answer
  }

  async take(method: Method, path: string, body?: object, role = 'root'): Promise<AsyncIterable<Buffer>> {
    return (await this.#request(method, path, body, role)).body
  }

  async close(): Promise<void> {
    await this.#pool.destroy()
    this.#named.release()
    await this.#opened?.close()
  }

  async #request(method: Method, path: string, body: object | undefined, role: string) {
    const headers = { 'x-access-token': role, ...(body !== undefined && { 'content-type': 'application/json' }) }
    const answer = await this.#pool.request({
      ...{ method, path, headers },
      body: body === undefined ? null : JSON.stringify(body),
    })
    await refuse(answer)
    return answer
  }
}

interface Answered {
  readonly statusCode: number
  readonly body: { json(): Promise<unknown> }
}

/** A refusal of the API as the fault it was. */
async function refuse(answer: Answered): Promise<void> {
  if (answer.statusCode < 400) return
  const { error = '', code = '' } = (await answer.body.json()) as { error?: string; code?: string }
  const known = Object.hasOwn(faultForms, code) ? (code as FaultCode) : 'InternalError'
  throw new Fault(known, { text: error, status: answer.statusCode })
}

/** A file or, for `-`, standard input, as a stream. */
export function inputStream(file: string): AsyncIterable<Buffer> {
  return file === '-' ? process.stdin : createReadStream(file)
}

/** A secret from a file or, for `-`, from standard input; without its line end. */
export function readSecret(file: string): string {
  return readFileSync(file === '-' ? 0 : file, 'utf8').replace(/\r?\n$/, '')
}
