// A client's end of a line protocol: whole lines in, text and bytes out, no promise on the way.
//
// Load generators react to each line with a function, because a generator that costs more than the server measures
// itself. A line is text without its end; what a server sends is Latin-1 as far as a generator cares.

import { connect, type Socket } from 'node:net'

export interface Target {
  readonly host: string
  readonly port: number
}

export interface LineClient {
  send(text: string): void
  /** Text and bytes in one write. */
  sendBytes(bytes: Buffer): void
  end(): void
}

/** Connects and calls `onLine` for each line, `onClose` once at the end with the error, if there was one. */
export function openLines(
  target: Target & { readonly localAddress?: string },
  onLine: (line: string, client: LineClient) => void,
  onClose: (error: Error | undefined) => void,
): LineClient {
  const socket: Socket = connect({
    ...{ host: target.host, port: target.port, noDelay: true },
    ...(target.localAddress === undefined ? {} : { localAddress: target.localAddress }),
  })
  const client: LineClient = {
    send: text => socket.write(text, 'latin1'),
    sendBytes: bytes => socket.write(bytes),
    end: () => socket.destroy(),
  }
  let rest = ''
  let failure: Error | undefined
  socket.on('data', chunk => {
    const text = rest + chunk.toString('latin1')
    let from = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      const line = text.slice(from, text.charCodeAt(end - 1) === 13 ? end - 1 : end)
      from = end + 1
      onLine(line, client)
    }
    rest = from === text.length ? '' : text.slice(from)
  })
  socket.on('error', error => {
    failure = error
  })
  socket.on('close', () => onClose(failure))
  return client
}
