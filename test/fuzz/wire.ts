// Seeded hostile input for the line protocols: sensible commands, cut, joined and spoiled, in every state of a connection.
//
// What must hold: whatever is sent, the service answers or closes; it never hangs, and afterwards it serves others.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Random } from './random.ts'

export interface Target {
  readonly host: string
  readonly port: number
}

export interface Speech {
  /** Commands that lead into each state of a connection; a random one of them opens a round. */
  readonly openings: readonly (readonly string[])[]
  readonly commands: readonly string[]
  readonly words: readonly string[]
  /** Ends the session; its answer, or the end of the connection, must come. */
  readonly goodbye: string
}

const spoilers = [
  '\0',
  '\r',
  '\n',
  '\r\n',
  '"',
  '\\',
  '{',
  '}',
  '{5}',
  '{5+}',
  '{4294967296}',
  '{99999999999999999999+}',
  '(',
  ')',
  '*',
  '%',
  '\xff',
  '\x80\x81',
  ' ',
  '\t',
  '~{3+}',
  '[',
  ']',
  '<',
  '>',
  '.',
  ',',
  ':',
  '$',
  "'",
  'NIL',
  '-1',
  '0',
  '4294967295',
  '4294967296',
  '1:*',
  '*:*',
  '9999999999999999999',
]

/** One connection: an opening, some spoiled commands, the end. @throws when nothing answers in time */
export async function assault(random: Random, at: Target, speech: Speech, ms: number): Promise<string[]> {
  const lines = [...random.pick(speech.openings)]
  const count = 1 + random.below(12)
  for (let at = 0; at < count; at++) lines.push(spoiled(random, speech))
  const bytes = Buffer.from(`${lines.join('\r\n')}\r\n`, 'latin1')
  const socket = connect(at.port, at.host)
  socket.on('error', () => {})
  await once(socket, 'connect')
  const heard = listen(socket)
  if (random.chance(0.15)) {
    // Somebody who leaves in the middle.
    socket.write(bytes.subarray(0, random.below(bytes.length)), () => socket.destroy())
    await heard.end(ms)
    return lines
  }
  for (let from = 0; from < bytes.length; ) {
    const to = random.chance(0.7) ? bytes.length : Math.min(bytes.length, from + 1 + random.below(200))
    socket.write(bytes.subarray(from, to))
    from = to
    if (random.chance(0.3)) await new Promise(resolve => setImmediate(resolve))
  }
  // A literal may still be open: so much more closes it, or the refusal has come long before.
  socket.write(Buffer.from(`${'x'.repeat(64)}\r\n\r\n.\r\n*\r\nDONE\r\n${speech.goodbye}\r\n`))
  socket.end()
  if (!(await heard.end(ms))) {
    socket.destroy()
    throw new Error(`no end after ${JSON.stringify(lines)}; heard ${JSON.stringify(heard.text().slice(-500))}`)
  }
  return lines
}

function spoiled(random: Random, speech: Speech): string {
  let line = random.chance(0.9)
    ? random.pick(speech.commands)
    : `${random.pick(speech.words)} ${random.pick(speech.words)}`
  line = line.replace(/@/g, () => random.pick(speech.words))
  const rounds = random.chance(0.3) ? 0 : 1 + random.below(3)
  for (let round = 0; round < rounds; round++) {
    const at = random.below(line.length + 1)
    switch (random.below(6)) {
      case 0:
        line = line.slice(0, at) + random.pick(spoilers) + line.slice(at)
        break
      case 1:
        line = line.slice(0, at) + line.slice(at + 1 + random.below(4))
        break
      case 2:
        line = line.slice(0, at) + random.bytes(1 + random.below(8)).toString('latin1') + line.slice(at)
        break
      case 3:
        line += ` ${random.pick(speech.words)}`
        break
      case 4:
        line =
          line.slice(0, at) +
          random.pick(spoilers).repeat(1 + random.below(random.chance(0.1) ? 5000 : 20)) +
          line.slice(at)
        break
      default:
        line = line.slice(0, at) + random.pick(speech.commands).slice(random.below(10)) + line.slice(at)
    }
  }
  return line
}

function listen(socket: Socket): { end(ms: number): Promise<boolean>; text(): string } {
  let heard = ''
  let ended = false
  let wake: (() => void) | undefined
  socket.on('data', chunk => {
    heard = (heard + chunk.toString('latin1')).slice(-4000)
  })
  const over = () => {
    ended = true
    wake?.()
  }
  socket.on('end', over)
  socket.on('close', over)
  return {
    text: () => heard,
    async end(ms) {
      if (ended) return true
      const timer = setTimeout(() => wake?.(), ms)
      await new Promise<void>(resolve => {
        wake = resolve
      })
      clearTimeout(timer)
      socket.destroy()
      return ended
    },
  }
}
