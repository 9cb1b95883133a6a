// Many connections from many networks: every 127.x.y.z is an address of this machine.

import { connect, type Socket } from 'node:net'

export interface Crowd {
  /** Those that are still open. */
  readonly open: number
  /** What the last one that was told something was told. */
  readonly told: string
  close(): void
}

/** Opens `count` connections, one from each of so many /24, and sends `text` over each. */
export async function crowd(at: { port: number }, count: number, text: string): Promise<Crowd> {
  const sockets = new Set<Socket>()
  let told = ''
  await Promise.all(
    Array.from({ length: count }, (_, index) => {
      const localAddress = `127.${1 + (index >> 8)}.${index & 255}.7`
      const socket = connect({ host: '127.0.0.1', port: at.port, localAddress })
      sockets.add(socket)
      socket.on('data', chunk => {
        told = chunk.toString('latin1')
      })
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
      return new Promise<void>(resolve => {
        socket.once('close', () => resolve())
        socket.once('connect', () => socket.write(text, () => resolve()))
      })
    }),
  )
  return {
    get open() {
      return sockets.size
    },
    get told() {
      return told
    },
    close() {
      for (const socket of sockets) socket.destroy()
    },
  }
}
