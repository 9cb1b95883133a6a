// Two processes of one machine that speak in values: a listener on a free port of the loopback, and a connection to it.
//
// Values are what structured clone knows, so bytes and expressions arrive as they are. Nothing that comes is looked at before the
// other side has shown the secret, and a frame has a bound. What is opened does not keep the process alive by itself where nothing
// else does (lib/process/background.ts).

import { createHash, timingSafeEqual } from 'node:crypto'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { deserialize, serialize } from 'node:v8'
import { Fault } from '#lib/fault.ts'
import { randomHex } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { detach } from '#lib/process/background.ts'

export interface FrameLine {
  send(value: unknown): void
  close(): void
}

export interface FrameListener {
  /** What whoever connects has to know: port and secret. */
  readonly place: string
  close(): void
}

const secretBytes = 32
const headBytes = 4

/** @param open is told of each connection that has shown the secret; what it gives hears each value, and undefined at the end */
export async function listenForFrames(open: (line: FrameLine) => (value: unknown) => void): Promise<FrameListener> {
  const secret = randomHex(secretBytes)
  const sockets = new Set<Socket>()
  const server = detach(
    createServer(socket => {
      sockets.add(detach(socket))
      socket.on('close', () => sockets.delete(socket))
      socket.on('error', () => socket.destroy())
      hear(socket, digest(secret), () => open(lineOf(socket)))
    }),
  )
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    place: `${port}/${secret}`,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** @param listener hears each value, and undefined at the end. @throws Fault InputValidationError where nobody is there */
export async function connectForFrames(place: string, listener: (value: unknown) => void): Promise<FrameLine> {
  const [, port, secret] = /^(\d{1,5})\/([0-9a-f]{64})$/.exec(place) ?? []
  if (port === undefined || secret === undefined)
    throw new Fault('InputValidationError', { text: 'This is no place of a service' })
  const socket = connect(Number(port), '127.0.0.1')
  await new Promise<void>((resolve, reject) => {
    const text = 'The service that this process should connect to is not there any more'
    socket.once('error', cause => reject(new Fault('InputValidationError', { text, cause })))
    socket.once('connect', resolve)
  })
  socket.on('error', () => socket.destroy())
  detach(socket)
  socket.write(digest(secret))
  hear(socket, undefined, () => listener)
  return lineOf(socket)
}

function lineOf(socket: Socket): FrameLine {
  return {
    send(value) {
      const body = serialize(value)
      const head = Buffer.allocUnsafe(headBytes)
      head.writeUInt32BE(body.length)
      socket.write(head)
      socket.write(body)
    },
    close: () => void socket.end(),
  }
}

/** Collects what comes into frames; first the secret, where one is to be shown. */
function hear(socket: Socket, secret: Buffer | undefined, open: () => (value: unknown) => void): void {
  let listener = secret === undefined ? open() : undefined
  let chunks: Buffer[] = []
  let held = 0
  let wanted = secret === undefined ? headBytes : secret.length
  let head = true
  const take = (): Buffer => {
    const all = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
    const [taken, rest] = [all.subarray(0, wanted), all.subarray(wanted)]
    chunks = rest.length === 0 ? [] : [rest]
    held = rest.length
    return taken
  }
  socket.on('data', chunk => {
    chunks.push(chunk)
    held += chunk.length
    while (held >= wanted && !socket.destroyed) {
      const taken = take()
      if (listener === undefined) {
        if (secret === undefined || !timingSafeEqual(secret, taken)) return void socket.destroy()
        listener = open()
        wanted = headBytes
      } else if (head) {
        wanted = taken.readUInt32BE(0)
        head = false
        if (wanted > limits.testing.frameBytesMax) return void socket.destroy()
      } else {
        wanted = headBytes
        head = true
        listener(deserialize(taken))
      }
    }
  })
  socket.once('close', () => listener?.(undefined))
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
