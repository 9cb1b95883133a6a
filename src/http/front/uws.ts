// uWebSockets.js behind the seam. The only file that knows that library.
//
// What its request object holds is valid during the handler only, so everything needed later is read before the first
// await. A response object must not be touched once it has ended or its client has left: every method here looks first.
// Answers of more than a chunk are sent no faster than the client reads; uWebSockets.js itself ends connections that
// send or take nothing for about ten seconds. A connection ends with the answer to a body in chunks (doubtful.ts).
//
// The library is loaded when the front is opened: where its native part is missing, everything else still works.

import '../environment.ts'

import type * as Uws from 'uWebSockets.js'
import { Buffer } from 'node:buffer'
import { rmSync } from 'node:fs'
import { after, breathe, type Timer } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { requireFree } from '#net/listener.ts'
import type { HttpConnections } from '../guard/connections.ts'
import { type HttpTls, withPemFiles } from '../guard/pem-files.ts'
import type { Body } from '../input/body.ts'
import type { Wire } from '../wire.ts'
import { slices } from './chunks.ts'
import { isDoubtful, isInChunks, refusedHead } from './doubtful.ts'
import type { Front, ListenForm, Listening, Serve } from './front.ts'
import { peer } from './peer.ts'
import { Waiting } from './waiting.ts'

/** What the library has and its types leave out. */
interface Hidden {
  _cfg(setting: string): void
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number
}

type Library = typeof Uws & Hidden

/** Loads the library. Rejects where its native part does not run here. */
export async function openUws(): Promise<Front> {
  const uws = (await import('uWebSockets.js')) as Library
  // Silent: no header that names the library and its version.
  uws._cfg('silent')
  return {
    name: 'uWebSockets.js',
    async listen(serve, form) {
      return new UwsListening(uws, await listen(uws, serve, form), serve, form)
    },
    listenLocal: (serve, path) => listenLocal(uws, serve, path),
  }
}

async function listenLocal(uws: Library, serve: Serve, path: string): Promise<Listening> {
  const app = uws.App().any('/*', handler(serve, null, false))
  rmSync(path, { force: true })
  const before = process.umask(0o177)
  try {
    const socket = await new Promise<Uws.us_listen_socket | false>(resolve => app.listen_unix(resolve, path))
    if (socket === false) {
      app.close()
      throw new Fault('DataDirectoryUnusable', { text: `The socket ${path} cannot be made` })
    }
    return new UwsListening(uws, { app, socket }, serve, {
      host: '',
      port: 0,
      tls: undefined,
      connections: null,
    })
  } finally {
    process.umask(before)
  }
}

function handler(serve: Serve, connections: HttpConnections | null, secure: boolean) {
  return (res: Uws.HttpResponse, req: Uws.HttpRequest) => {
    const doubtful = isDoubtful(req)
    const wire = new UwsWire(res, req, connections, { secure, last: doubtful || isInChunks(req) })
    // Before anything else is done with the response: it takes the place of what tells that a silent connection closed.
    if (connections?.watching === true) connections.heard(wire.address())
    if (doubtful) {
      wire.leave(() => {})
      wire.send(refusedHead, '', true)
      return
    }
    const call = serve(wire)
    wire.leave(() => call.abort(new Error('The client has gone')))
  }
}

interface Opened {
  readonly app: Uws.TemplatedApp
  readonly socket: Uws.us_listen_socket
}

/** Counts connections. Whoever is refused is closed before he can say anything. */
function bounded(app: Uws.TemplatedApp, connections: HttpConnections | null): Uws.TemplatedApp {
  if (connections === null) return app
  const step = (res: Uws.HttpResponse, by: number): void => {
    if (by < 0) {
      connections.closed()
      return
    }
    const gone = connections.opened(peer(res), () => void res.close())
    if (gone === undefined) res.close()
    else res.onAborted(gone)
  }
  return app.filter(step)
}

function listen(uws: Library, serve: Serve, { host, port, tls, connections }: ListenForm): Promise<Opened> {
  const take = handler(serve, connections, tls !== undefined)
  const app = bounded(tls === undefined ? uws.App().any('/*', take) : secureApp(uws, tls, take), connections)
  return new Promise((resolve, reject) => {
    // Without the option a second process would share the port (SO_REUSEPORT).
    const start = app.listen as unknown as (host: string, port: number, option: number, done: Done) => void
    start.call(app, host, port, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, socket => {
      if (socket === false) {
        app.close()
        // The library does not say why. Who asks the system hears it, unless it was for a moment.
        const text = `Port ${port} on ${host} was in use`
        requireFree(host, port).then(() => reject(new Fault('PortInUse', { text })), reject)
      } else resolve({ app, socket })
    })
  })
}

type Done = (socket: Uws.us_listen_socket | false) => void

function secureApp(
  uws: Library,
  { initial, named }: HttpTls,
  serve: Parameters<Uws.TemplatedApp['any']>[1],
): Uws.TemplatedApp {
  return withPemFiles(files => {
    const app = uws.SSLApp(files(initial)).any('/*', serve)
    for (const [name, pair] of named) {
      app.addServerName(name, files(pair))
      // A name has routes of its own. The library says on standard output that it found it.
      app.domain(name).any('/*', serve)
    }
    return app
  })
}

class UwsListening implements Listening {
  readonly port: number
  readonly #uws: Library
  readonly #serve: Serve
  readonly #form: ListenForm
  /** Those that were replaced and may have connections. */
  readonly #retired = new Map<Uws.TemplatedApp, Timer>()
  #app: Uws.TemplatedApp
  #socket: Uws.us_listen_socket | null
  #stopped = false

  constructor(uws: Library, { app, socket }: Opened, serve: Serve, form: ListenForm) {
    this.#uws = uws
    this.#app = app
    this.#socket = socket
    this.#serve = serve
    this.#form = form
    this.port = uws.us_socket_local_port(socket as Uws.us_socket)
  }

  /** The library cannot change a certificate that a connection may use, so this listens anew on the same port. */
  async renew(tls: HttpTls): Promise<void> {
    if (this.#stopped) return
    this.#stopListening()
    const next = await listen(this.#uws, this.#serve, { ...this.#form, port: this.port, tls })
    const before = this.#app
    const timer = after(limits.http.retireMs, () => this.#drop(before))
    this.#retired.set(before, timer)
    this.#app = next.app
    this.#socket = next.socket
    if (this.#stopped) this.#stopListening()
  }

  stop(): void {
    this.#stopped = true
    this.#stopListening()
  }

  async close(): Promise<void> {
    this.stop()
    for (const app of [...this.#retired.keys()]) this.#drop(app)
    this.#app.close()
  }

  #stopListening(): void {
    if (this.#socket !== null) this.#uws.us_listen_socket_close(this.#socket)
    this.#socket = null
  }

  #drop(app: Uws.TemplatedApp): void {
    this.#retired.get(app)?.cancel()
    this.#retired.delete(app)
    app.close()
  }
}

class UwsWire implements Wire {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly secure: boolean
  readonly #res: Uws.HttpResponse
  readonly #connections: HttpConnections | null
  /** The answer ends the connection, and what came along is not taken for a further request. */
  readonly #last: boolean
  #req: Uws.HttpRequest | null
  /** The response has ended or its client has left; it must not be touched any more. */
  #over = false
  #gone = false
  #address: string | null = null
  /** Head of a streamed answer that has not been written yet. */
  #head: string | null = null
  readonly #waiting = new Waiting()

  constructor(
    res: Uws.HttpResponse,
    req: Uws.HttpRequest,
    connections: HttpConnections | null,
    { secure, last }: { secure: boolean; last: boolean },
  ) {
    this.#res = res
    this.secure = secure
    this.#connections = connections
    this.#req = req
    this.#last = last
    this.method = req.getCaseSensitiveMethod()
    this.path = req.getUrl()
    this.query = req.getQuery() ?? ''
  }

  get gone(): boolean {
    return this.#gone
  }

  get crowded(): boolean {
    return this.#connections?.crowded === true
  }

  recognised(): void {
    // Of a connection that has been open for long this was told before.
    if (this.#address !== null) this.#connections?.remember(this.#address)
  }

  header(name: string): string {
    if (this.#req === null) throw new Error('The head of the request is not valid any more')
    return this.#req.getHeader(name)
  }

  headers(name: string): readonly string[] {
    const found: string[] = []
    this.#req?.forEach((one, value) => void (one === name && found.push(value)))
    return found
  }

  /** The handler returns: the head is no longer valid, and an answer that is still to come may be aborted. */
  leave(onGone: () => void): void {
    this.#req = null
    if (this.#over) return
    this.#res.onAborted(() => {
      this.#over = true
      this.#gone = true
      onGone()
      this.#waiting.leave()
    })
  }

  /** What a header of the PROXY protocol says is left out: the library takes one from anybody. */
  address(): string {
    if (this.#address === null) this.#address = this.#over ? '' : peer(this.#res)
    return this.#address
  }

  receive(body: Body): void {
    this.#res.onData((chunk, last) => body.push(new Uint8Array(chunk), last))
  }

  pause(): void {
    if (!this.#over) this.#res.pause()
  }

  resume(): void {
    if (!this.#over) this.#res.resume()
  }

  send(head: string, body: string | Uint8Array, close: boolean): void {
    if (this.#over) return
    // What leaves later is a copy: the bytes are the caller's, and other answers are written over them meanwhile.
    const own = this.#last && typeof body !== 'string' ? Buffer.from(body) : body
    const write = () => this.#write(head, own, close)
    if (this.#last) void breathe().then(() => this.#end(write))
    else if (this.#req === null) this.#end(write)
    else {
      // In the handler the socket is corked already.
      this.#over = true
      write()
    }
  }

  /** With the last answer: what came along with the call has ended the connection by then, and what comes later is not read. */
  #end(write: () => void): void {
    if (this.#over) return
    this.#over = true
    if (this.#last) this.#res.pause()
    this.#res.cork(write)
  }

  #write(head: string, body: string | Uint8Array, close: boolean): void {
    const res = this.#res.writeStatus(head)
    // endWithoutBody is broken for any argument in this version: the connection closes without an answer.
    if (this.#last) res.end(this.method === 'HEAD' ? '' : body, true)
    else if (this.method === 'HEAD') {
      res.writeHeader('Content-Length', String(Buffer.byteLength(body))).endWithoutBody()
    } else if (head.startsWith('204') || head.startsWith('304')) res.endWithoutBody()
    else res.end(body, close)
  }

  async pipe(
    head: string,
    chunks: AsyncIterator<Uint8Array>,
    announced: number | undefined,
    close: boolean,
  ): Promise<void> {
    // An answer whose length is announced cannot end the connection.
    const length = this.#last ? undefined : announced
    if (length === undefined) await breathe()
    this.#head = head
    // Once only: a handler that is set while one is being called is lost.
    this.#res.onWritable(offset => this.#over || this.#waiting.writable(offset))
    let left = length ?? Number.POSITIVE_INFINITY
    // What the library gathered and a full socket does not take it keeps, but not what did not fit in with it; during its own calls it gathers all.
    const most = length === undefined ? limits.http.gatheredBytesMax : limits.body.chunkBytes
    while (!this.#over) {
      const result = await chunks.next()
      if (this.#over) break
      if (result.done === true) {
        this.#finish(length, left, close)
        return
      }
      for (const piece of slices(result.value, most)) {
        const part = piece.length > left ? piece.subarray(0, left) : piece
        left -= part.length
        if (part.length > 0 && !this.#over) await this.#push(part, length)
      }
    }
    await chunks.return?.()
  }

  /** Resolves once the socket has taken `part`, or the client has gone. */
  #push(part: Uint8Array, length: number | undefined): Promise<void> | null {
    const res = this.#res
    let taken = false
    if (length === undefined) {
      res.cork(() => {
        this.#begin()
        taken = res.write(part)
      })
      return taken ? null : this.#waiting.until(() => true).then(breathe)
    }
    let before = 0
    const attempt = (bytes: Uint8Array): boolean => {
      const [ok, over] = res.tryEnd(bytes, length)
      if (over) this.#over = true
      return ok
    }
    res.cork(() => {
      this.#begin()
      before = res.getWriteOffset()
      taken = attempt(part)
    })
    return taken ? null : this.#waiting.until(offset => attempt(part.subarray(offset - before)))
  }

  /** Writes the head of a streamed answer, together with its first bytes. */
  #begin(): void {
    if (this.#head === null) return
    this.#res.writeStatus(this.#head)
    this.#head = null
  }

  /** Ends an answer whose source has ended. Throws where that gave less than was announced. */
  #finish(length: number | undefined, left: number, close: boolean): void {
    if (this.#over) return
    if (length !== undefined && length > 0) {
      throw new Error(`An answer of ${length} bytes ended ${left} bytes early`)
    }
    this.#end(() => {
      this.#begin()
      this.#res.end(undefined, close || this.#last)
    })
  }

  cut(): void {
    if (this.#over) return
    this.#over = true
    this.#gone = true
    this.#res.close()
  }
}
