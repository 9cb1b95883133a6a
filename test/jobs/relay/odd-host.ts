// A mail server at an address of loopback that says what a test tells it to, byte by byte: what other people's hosts do.

import { createServer, type Server, type Socket } from 'node:net'

interface OddMessage {
  /** As it was said, with its parameters. */
  readonly from: string
  readonly to: readonly string[]
  /** Bytes between DATA and the dot, without dot stuffing. */
  readonly raw: Buffer
}

export interface OddHost {
  readonly port: number
  /** Extensions, as EHLO names them. */
  extensions: readonly string[]
  /** Lines of commands that came, those of a message left out. */
  readonly commands: string[]
  /** Messages that came to their dot, whatever was answered. */
  readonly messages: OddMessage[]
  /** What is answered to a command (`MAIL FROM:<…>`) or to a message (`.`); the usual where it gives nothing, silence for null. */
  answer: (line: string, socket: Socket) => string | null | undefined
  /** Does the usual again. */
  behaveAgain(): void
  close(): Promise<void>
}

const usual = ['8BITMIME', 'SMTPUTF8']

export async function startOddHost(host: string, port = 0): Promise<OddHost> {
  const sockets = new Set<Socket>()
  const server: Server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    talk(odd, socket)
  })
  const odd: OddHost = {
    ...{ port: 0, extensions: usual, commands: [], messages: [] },
    answer: () => undefined,
    behaveAgain: () => void Object.assign(odd, { extensions: usual, answer: () => undefined }),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
  await new Promise<void>(resolve => server.listen(port, host, () => resolve()))
  const bound = server.address()
  return Object.assign(odd, { port: typeof bound === 'object' && bound !== null ? bound.port : 0 })
}

function talk(odd: OddHost, socket: Socket): void {
  let rest = Buffer.alloc(0)
  let inData = false
  let from = ''
  let to: string[] = []
  let lines: Buffer[] = []
  const say = (line: string, usual: string) => {
    const told = odd.answer(line, socket)
    if (told !== null && !socket.destroyed) socket.write(told ?? usual)
  }
  const content = (line: Buffer) => {
    if (line.toString('latin1') !== '.\r\n') return void lines.push(line[0] === dot ? line.subarray(1) : line)
    inData = false
    odd.messages.push({ from, to, raw: Buffer.concat(lines) })
    say('.', '250 2.0.0 taken\r\n')
  }
  const command = (text: string) => {
    odd.commands.push(text)
    const verb = text.slice(0, 4).toUpperCase()
    if (verb === 'MAIL') [from, to] = [text.slice('MAIL FROM:'.length), []]
    if (verb === 'RCPT') to.push(text.slice('RCPT TO:'.length))
    if (verb === 'EHLO') {
      return say(text, ['250-odd', ...odd.extensions.map(one => `250-${one}`), '250 HELP', ''].join('\r\n'))
    }
    if (verb === 'QUIT') return void socket.end('221 2.0.0 bye\r\n')
    if (verb !== 'DATA') return say(text, '250 2.0.0 OK\r\n')
    inData = true
    lines = []
    say(text, '354 go on\r\n')
  }
  socket.on('data', chunk => {
    rest = Buffer.concat([rest, chunk])
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
      const line = rest.subarray(0, end + 1)
      rest = rest.subarray(end + 1)
      if (inData) content(line)
      else command(line.toString('utf8').trimEnd())
    }
  })
  say('', '220 odd ESMTP\r\n')
}

const dot = 46
