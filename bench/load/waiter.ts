// Many IMAP sessions that wait in IDLE, and mail for them, in a process of its own: says how long a delivery takes to reach everybody
// who waits for it.
//
// Asked to open, it has so many sessions wait, each account having as many as any other; asked to deliver, it has messages delivered
// at a steady rate and answers with the times from each message's last byte to each session's EXISTS. Accounts take turns, so that
// a push belongs to the last message of its account.

import { connect, type Socket } from 'node:net'
import { monotonic, sleep } from '#lib/clock.ts'
import { percentile } from './job.ts'
import { type LineClient, openLines, type Target } from './line.ts'
import { fixedMessages, onTheWire, stamp } from './messages.ts'
import type { Account } from './others.ts'

export type WaiterAsked =
  | { readonly open: number; readonly imap: Target; readonly accounts: readonly Account[] }
  | {
      readonly deliver: number
      readonly perSecond: number
      readonly lmtp: Target
      readonly recipients: readonly string[]
    }

export interface Pushed {
  readonly delivered: number
  readonly pushes: number
  readonly expected: number
  readonly p50: number
  readonly p99: number
  readonly worst: number
}

const openingMax = 16
const connections = 8
const messageBytes = 2048
const lateMs = 5000

/** Sessions of each account. */
const sessions: number[] = []
/** When the last message of each account was said, and what it took. */
const said: number[] = []
const times: number[] = []

async function open(count: number, at: Target, accounts: readonly Account[]): Promise<void> {
  const from = sessions.reduce((sum, one) => sum + one, 0)
  let next = from
  const worker = async () => {
    while (next < count) {
      const account = next++ % accounts.length
      await wait(at, accounts[account] as Account, account)
      sessions[account] = (sessions[account] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: openingMax }, worker))
}

/** Each answer is looked for at the end of what came: nothing more is kept of a session. */
const steps = ['\n* OK ', '\na OK', '\nb OK', '\n+ ']

function wait(at: Target, { name, password }: Account, account: number): Promise<void> {
  const commands = [`a LOGIN ${name} ${password}\r\n`, 'b SELECT INBOX\r\n', 'c IDLE\r\n']
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ host: at.host, port: at.port, noDelay: true })
    let step = 0
    let text = '\n'
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`a session ended: ${text.slice(-200)}`)))
    socket.on('data', chunk => {
      if (step === steps.length) {
        const since = said[account]
        if (since !== undefined && chunk.includes(' EXISTS')) times.push(monotonic() - since)
        return
      }
      text += chunk.toString('latin1')
      if (!text.includes(steps[step] as string)) return
      const command = commands[step]
      step += 1
      text = '\n'
      if (command === undefined) resolve()
      else socket.write(command)
    })
  })
}

async function deliver(count: number, perSecond: number, at: Target, recipients: readonly string[]): Promise<Pushed> {
  const messages = fixedMessages(messageBytes, 200, 1)
  times.length = 0
  said.length = 0
  const clients = await Promise.all(Array.from({ length: connections }, () => Courier.open(at)))
  const start = monotonic()
  let expected = 0
  const running: Promise<void>[] = []
  for (let index = 0; index < count; index++) {
    const account = index % recipients.length
    const message = messages[index % messages.length]
    const client = clients[index % clients.length]
    if (message === undefined || client === undefined) continue
    const body = Buffer.from(onTheWire(stamp(message, 'wait')))
    expected += sessions[account] ?? 0
    running.push(client.send(recipients[account] ?? '', body, () => (said[account] = monotonic())))
    const due = start + ((index + 1) * 1000) / perSecond
    if (due > monotonic()) await sleep(due - monotonic())
  }
  await Promise.all(running)
  for (const until = monotonic() + lateMs; times.length < expected && monotonic() < until; ) await sleep(50)
  const sorted = times.toSorted((one, other) => one - other)
  const at50 = percentile(sorted, 50)
  return {
    delivered: count,
    pushes: times.length,
    expected,
    p50: at50,
    p99: percentile(sorted, 99),
    worst: sorted.at(-1) ?? 0,
  }
}

/** One LMTP connection that hands over one message after the other. */
class Courier {
  #client: LineClient | undefined
  #heard: ((line: string) => void) | undefined
  #last: Promise<void> = Promise.resolve()

  static async open(at: Target): Promise<Courier> {
    const courier = new Courier()
    const greeted = courier.#answer('220')
    courier.#client = openLines(
      at,
      line => (line.charCodeAt(3) === 0x2d ? undefined : courier.#heard?.(line)),
      () => courier.#heard?.('the connection closed'),
    )
    await greeted
    await courier.#say('LHLO bench.test\r\n', '250')
    return courier
  }

  /** @param said called when the last byte is on its way */
  send(recipient: string, body: Buffer, said: () => void): Promise<void> {
    this.#last = this.#last.then(async () => {
      await this.#say('MAIL FROM:<sender@remote.test>\r\n', '250')
      await this.#say(`RCPT TO:<${recipient}>\r\n`, '250')
      await this.#say('DATA\r\n', '354')
      const taken = this.#answer('250')
      said()
      this.#client?.sendBytes(body)
      await taken
    })
    return this.#last
  }

  #say(text: string, code: string): Promise<void> {
    const answered = this.#answer(code)
    this.#client?.send(text)
    return answered
  }

  #answer(code: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#heard = line => (line.startsWith(code) ? resolve() : reject(new Error(line)))
    })
  }
}

process.on('message', async (asked: WaiterAsked) => {
  try {
    if ('open' in asked) await open(asked.open, asked.imap, asked.accounts)
    const done = 'open' in asked ? {} : await deliver(asked.deliver, asked.perSecond, asked.lmtp, asked.recipients)
    process.send?.(done)
  } catch (error) {
    process.stderr.write(`${error}\n`)
    process.exit(1)
  }
})
process.on('SIGTERM', () => process.exit(0))
