// Measures one mail service for tests, in this process: started by bench/section/testing.ts with its name and its module, and
// answers one message with `CatcherFigures`.
//
// Mails are written by hand on a bare socket, so that what is measured is the service and not the one who sends.

import { setTimeout as sleep } from 'node:timers/promises'
import { collectGarbage } from '#lib/process/heap.ts'
import { residentBytes } from '../child.ts'
import { openLines, type Target } from '../load/line.ts'
import { type CatcherName, loadCatcher } from './catcher.ts'

/** Milliseconds and bytes. */
export interface CatcherFigures {
  /** Of its module. */
  readonly loadMs: number
  /** From the call to the first mail in the hands of the test: the first of the process, and the middle of later ones. */
  readonly firstMs: number
  readonly warmMs: number
  readonly closeMs: number
  readonly tenMs: number
  /** What the process grew by with the first one that took a mail, its program included. */
  readonly oneBytes: number
  /** What it grew by with ten more, divided by ten. */
  readonly eachBytes: number
  /** From the last byte of a mail to the test that waits for it. */
  readonly waitP50: number
  readonly waitP99: number
}

const rounds = 5
const together = 10

async function measure(name: CatcherName, file: string, mails: number): Promise<CatcherFigures> {
  const before = await settled()
  const loading = performance.now()
  const start = await loadCatcher(name, file)
  const loadMs = performance.now() - loading
  const firsts: number[] = []
  const closes: number[] = []
  let oneBytes = 0
  for (let round = 0; round <= rounds; round++) {
    const from = performance.now()
    const catcher = await start()
    const sender = await Sender.open(catcher.smtp)
    await sender.deliver(catcher, round)
    firsts.push(performance.now() - from)
    sender.close()
    if (round === 0) oneBytes = (await settled()) - before
    const closing = performance.now()
    await catcher.close()
    closes.push(performance.now() - closing)
  }
  const catcher = await start()
  const sender = await Sender.open(catcher.smtp)
  const waits: number[] = []
  for (let mail = 0; mail < mails; mail++) waits.push(await sender.deliver(catcher, mail))
  sender.close()
  const one = await settled()
  const all = performance.now()
  const ten = await Promise.all(
    Array.from({ length: together }, async (_, index) => {
      const another = await start()
      const its = await Sender.open(another.smtp)
      await its.deliver(another, index)
      its.close()
      return another
    }),
  )
  const tenMs = performance.now() - all
  const eachBytes = ((await settled()) - one) / together
  await Promise.all([catcher, ...ten].map(each => each.close()))
  const [firstMs = 0, ...later] = firsts
  const sorted = (values: number[], part: number) =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? 0
  return {
    ...{ loadMs, firstMs, warmMs: sorted(later, 0.5), closeMs: sorted(closes.slice(1), 0.5), tenMs, oneBytes },
    ...{ eachBytes, waitP50: sorted(waits, 0.5), waitP99: sorted(waits, 0.99) },
  }
}

/** Resident memory when what is not held is gone. */
async function settled(): Promise<number> {
  await sleep(settleMs)
  collectGarbage()
  await sleep(settleMs)
  return residentBytes(process.pid)
}

const settleMs = 300

/** A connection that mails are sent over. */
class Sender {
  readonly #send: (text: string) => void
  readonly #end: () => void
  readonly #replies: AsyncIterator<string>

  private constructor(send: (text: string) => void, end: () => void, replies: AsyncIterator<string>) {
    this.#send = send
    this.#end = end
    this.#replies = replies
  }

  static async open(target: Target): Promise<Sender> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await Sender.#connect(target)
      } catch (error) {
        // One of them starts to listen after it said so.
        if (attempt === 100) throw error
        await sleep(1)
      }
    }
  }

  static async #connect(target: Target): Promise<Sender> {
    const waiting: { resolve(line: string): void; reject(error: Error): void }[] = []
    const lines: string[] = []
    const client = openLines(
      target,
      line => {
        if (line[3] === '-') return
        const next = waiting.shift()
        if (next === undefined) lines.push(line)
        else next.resolve(line)
      },
      error => {
        for (const one of waiting) one.reject(error ?? new Error('the connection was closed'))
      },
    )
    const replies: AsyncIterator<string> = {
      next: async () => {
        const line = lines.shift()
        const value = line ?? (await new Promise<string>((resolve, reject) => waiting.push({ resolve, reject })))
        if (!/^[23]/.test(value)) throw new Error(value)
        return { value, done: false }
      },
    }
    const sender = new Sender(
      text => client.send(text),
      () => client.end(),
      replies,
    )
    await replies.next()
    await sender.#ask('EHLO bench.test')
    return sender
  }

  /** Sends a mail that somebody waits for; milliseconds from its last byte to him. */
  async deliver(to: { wait(address: string): Promise<string> }, number: number): Promise<number> {
    const address = `mail-${number}@bench.test`
    const subject = `Mail ${number}`
    const waiting = to.wait(address)
    await this.#ask('MAIL FROM:<bench@example.com>')
    await this.#ask(`RCPT TO:<${address}>`)
    await this.#ask('DATA')
    const head = `From: bench@example.com\r\nTo: ${address}\r\nSubject: ${subject}\r\nMessage-ID: <${number}@bench.test>`
    const from = performance.now()
    const taken = this.#ask(`${head}\r\n\r\n${'Nothing to say. '.repeat(100)}\r\n.`)
    const seen = await waiting
    const ms = performance.now() - from
    if (seen !== subject) throw new Error(`${seen} came for ${subject}`)
    await taken
    return ms
  }

  close(): void {
    this.#end()
  }

  async #ask(line: string): Promise<void> {
    this.#send(`${line}\r\n`)
    await this.#replies.next()
  }
}

process.on('message', ({ mails }: { mails: number }) => {
  const [name, file] = process.argv.slice(2) as [CatcherName, string]
  measure(name, file, mails).then(
    figures => process.send?.(figures),
    error => {
      process.stderr.write(`${error.stack}\n`)
      process.exit(1)
    },
  )
})
