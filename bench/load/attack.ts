// Somebody who asks for as much as he is let, from an address of his own: commands, requests, messages, again and again.
//
// Refusals count as much as answers: to refuse is what a service may do. Answers are thrown away as they come, so that the
// attacker costs little beside whom he attacks.

import { connect } from 'node:net'
import { monotonic, sleep } from '#lib/clock.ts'
import { ImapLoad } from './imap.ts'
import { openLines, type Target } from './line.ts'
import type { Account } from './others.ts'

interface Bounds extends Target {
  readonly kind: 'attack'
  readonly ms: number
  readonly connections: number
  /** Where connections come from. */
  readonly from: string
}

/** IMAP commands in turn, on folder `folder`. */
interface CommandAttack extends Bounds {
  readonly by: 'commands'
  readonly account: Account
  readonly folder: string
  readonly commands: readonly string[]
}

/** Logins under names that exist and passwords that do not fit. */
interface LoginAttack extends Bounds {
  readonly by: 'logins'
  readonly names: readonly string[]
}

/** Requests as they stand on the wire, in turn; each is answered with a length. */
interface RequestAttack extends Bounds {
  readonly by: 'requests'
  readonly requests: readonly string[]
}

/** One message over LMTP, told apart by its Message-ID. */
interface MessageAttack extends Bounds {
  readonly by: 'messages'
  readonly recipient: string
  /** `ID` in it becomes another one each time. */
  readonly message: string
}

export type AttackJob = CommandAttack | LoginAttack | RequestAttack | MessageAttack

export interface AttackResult {
  readonly done: number
  readonly refused: number
  /** One of the refusals. */
  readonly refusal: string
}

const restMs = 5
const patienceMs = 2000

export async function attack(job: AttackJob): Promise<AttackResult> {
  const until = monotonic() + job.ms
  const result = { done: 0, refused: 0, refusal: '' }
  const worker = async (index: number) => {
    for (let round = index; monotonic() < until; ) {
      try {
        for await (const _ of attempts(job, round)) {
          result.done += 1
          round += 1
          if (monotonic() >= until) return
        }
      } catch (error) {
        result.refused += 1
        result.refusal = error instanceof Error ? error.message.slice(-120) : String(error)
      }
      round += 1
      await sleep(restMs)
    }
  }
  const workers = Promise.all(Array.from({ length: job.connections }, (_, index) => worker(index)))
  // What still runs is cut off with this process, as an attacker would do it.
  await Promise.race([workers, sleep(job.ms + patienceMs)])
  return result
}

/** One connection: yields after each attempt, throws where it is refused. */
function attempts(job: AttackJob, round: number): AsyncGenerator<void> {
  if (job.by === 'commands') return commands(job)
  if (job.by === 'logins') return logins(job, round)
  return job.by === 'requests' ? requests(job, round) : messages(job)
}

async function* commands(job: CommandAttack): AsyncGenerator<void> {
  const client = await ImapLoad.open(job, job.account.name, job.account.password, job.from)
  try {
    await client.run(`SELECT ${job.folder}`)
    for (let at = 0; ; at++) {
      await client.run(job.commands[at % job.commands.length] ?? 'NOOP')
      yield
    }
  } finally {
    client.close()
  }
}

async function* logins(job: LoginAttack, round: number): AsyncGenerator<void> {
  const client = await ImapLoad.open(job, job.names[round % job.names.length] ?? '', `guess-${round}`, job.from)
  client.close()
  yield
}

async function* requests(job: RequestAttack, round: number): AsyncGenerator<void> {
  const socket = connect({ host: job.host, port: job.port, localAddress: job.from, noDelay: true })
  let left = -1
  let answered: { resolve(): void; reject(error: Error): void } | undefined
  let head = ''
  socket.on('data', chunk => {
    let bytes = chunk.length
    if (left < 0) {
      head += chunk.toString('latin1')
      const end = head.indexOf('\r\n\r\n')
      if (end < 0) return
      const length = Number(/\r\ncontent-length: ?(\d+)/i.exec(head.slice(0, end))?.[1] ?? 0)
      left = length
      bytes = head.length - end - 4
    }
    left -= bytes
    if (left > 0) return
    const status = head.slice(9, 12)
    left = -1
    head = ''
    if (status === '200') answered?.resolve()
    else answered?.reject(new Error(`status ${status}`))
  })
  socket.on('error', error => answered?.reject(error))
  socket.on('close', () => answered?.reject(new Error('the connection closed')))
  try {
    for (let at = round; ; at++) {
      const answer = new Promise<void>((resolve, reject) => {
        answered = { resolve, reject }
      })
      socket.write(job.requests[at % job.requests.length] ?? '')
      await answer
      yield
    }
  } finally {
    socket.destroy()
  }
}

let serial = 0

async function* messages(job: MessageAttack): AsyncGenerator<void> {
  let waiting: { resolve(line: string): void; reject(error: Error): void } | undefined
  const client = openLines(
    { ...job, localAddress: job.from },
    line => {
      if (line.charCodeAt(3) !== 0x2d) waiting?.resolve(line)
    },
    () => waiting?.reject(new Error('the connection closed')),
  )
  const expect = async (code: string) => {
    const line = await new Promise<string>((resolve, reject) => {
      waiting = { resolve, reject }
    })
    if (!line.startsWith(code)) throw new Error(line)
  }
  try {
    await expect('220')
    client.send('LHLO attack.test\r\n')
    await expect('250')
    for (;;) {
      client.send('MAIL FROM:<attacker@remote.test>\r\n')
      await expect('250')
      client.send(`RCPT TO:<${job.recipient}>\r\n`)
      await expect('250')
      client.send('DATA\r\n')
      await expect('354')
      client.send(`${job.message.replace('ID', `${process.pid}.${serial++}`)}.\r\n`)
      await expect('250')
      yield
    }
  } finally {
    client.end()
  }
}
