// Has clamd look at a message: `zINSTREAM`, chunks behind their lengths, an empty one, and one line as the answer.
//
// Promises: a bounded answer within a bounded time, or an error. A message that clamd finds too large counts as not looked at.

import { connect } from 'node:net'
import { limits } from '#lib/limits.ts'

/** Of a name that is told. */
const nameLengthMax = 200

/** Name of what was found; null where nothing was. `at` is host:port or the path of a socket. @throws Error without an answer */
export function scanClamd(at: string, message: AsyncIterable<Buffer>): Promise<string | null> {
  const { scanMs, answerBytesMax } = limits.spam
  return new Promise((resolve, reject) => {
    const socket = connect(placeOf(at))
    const timer = AbortSignal.timeout(scanMs)
    const late = () => socket.destroy(new Error('clamd took too long'))
    timer.addEventListener('abort', late, { once: true })
    let answer = ''
    socket.on('error', reject)
    socket.on('close', () => {
      timer.removeEventListener('abort', late)
      // The answer may come before all was sent.
      const found = /^stream: (?:OK|(.+) FOUND)\0?$/s.exec(answer.trim())
      if (found === null) reject(new Error(answer === '' ? 'clamd gave no answer' : 'clamd refused the message'))
      else resolve(found[1]?.slice(0, nameLengthMax).replace(/[\0-\x1f\x7f]+/g, ' ') ?? null)
    })
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString('latin1')
      if (answer.length > answerBytesMax) socket.destroy()
      else if (answer.includes('\0')) socket.end()
    })
    send(socket, message).catch(error => socket.destroy(error as Error))
  })
}

async function send(socket: ReturnType<typeof connect>, message: AsyncIterable<Buffer>): Promise<void> {
  socket.write('zINSTREAM\0')
  for await (const chunk of message) {
    if (chunk.length === 0) continue
    if (!socket.writable) return
    const length = Buffer.alloc(4)
    length.writeUInt32BE(chunk.length)
    socket.write(length)
    if (!socket.write(chunk)) {
      await new Promise<void>(resolve => {
        const go = () => {
          socket.off('drain', go)
          socket.off('close', go)
          resolve()
        }
        socket.on('drain', go)
        socket.on('close', go)
      })
    }
  }
  if (socket.writable) socket.write(Buffer.alloc(4))
}

function placeOf(at: string): { path: string } | { host: string; port: number } {
  if (at.startsWith('/')) return { path: at }
  const colon = at.lastIndexOf(':')
  return { host: at.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(at.slice(colon + 1)) }
}
