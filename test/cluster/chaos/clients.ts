// What clients say and hear over the wire: each gives up after a while, as programs do, and whoever heard no answer does not
// know what became of what he asked.

import { after } from '#lib/clock.ts'
import { Dialogue, stuffed } from '../../dialogue.ts'
import type { Up } from './node.ts'

/** What one answer may take; then the client is gone. */
const patienceMs = 20_000

/** What came of something that was to be done. */
export interface Outcome {
  /** `later`: to be tried again; `none`: no answer came. */
  readonly kind: 'done' | 'later' | 'refused' | 'none'
  readonly said: string
  /** Whether the whole was sent, so that it may have been done all the same. */
  readonly sent: boolean
}

/** Runs a conversation, which ends when it takes too long. */
export async function talking<Result>(
  at: Up,
  port: string,
  talk: (wire: Dialogue) => Promise<Result>,
): Promise<Result> {
  const wire = await Dialogue.open(at.listeners[port] as never)
  const late = after(patienceMs, () => wire.close())
  try {
    return await talk(wire)
  } finally {
    late.cancel()
    wire.close()
  }
}

function outcomeOf(said: string, sent: boolean): Outcome {
  const kind = said.startsWith('2') ? 'done' : said.startsWith('4') ? 'later' : 'refused'
  return { kind, said, sent }
}

/** A conversation of SMTP's kind up to its one message; what was not answered before the message went is to be tried again. */
export async function mailed(at: Up, port: string, commands: readonly string[], text: string): Promise<Outcome> {
  let sent = false
  try {
    return await talking(at, port, async wire => {
      const greeting = await wire.reply()
      if (!greeting.startsWith('220')) return outcomeOf(greeting, false)
      for (const command of commands) {
        const line = await wire.ask(command)
        if (!/^[23]/.test(line)) return outcomeOf(line, false)
      }
      sent = true
      wire.send(stuffed(Buffer.from(text)))
      return outcomeOf(await wire.reply(), true)
    })
  } catch (error) {
    return { kind: sent ? 'none' : 'later', said: String(error), sent }
  }
}

/** A message: its identity, and a body of so many lines. */
export function messageText(mid: string, lines: number): string {
  const head = `From: x@example.org\r\nTo: y@example.com\r\nSubject: ${mid}\r\nMessage-ID: <${mid}@example.org>\r\n\r\n`
  // Lines that differ, so that no two messages have a part in common.
  return head + Array.from({ length: lines }, (_, at) => `${mid} line ${at} ${'.'.repeat(40)}\r\n`).join('')
}

/** One that says what it knows of: an IMAP session that hears what it was not asked for. */
export class Imap {
  readonly #wire: Dialogue
  readonly #hear: (line: string) => void
  #number = 0

  private constructor(wire: Dialogue, hear: (line: string) => void) {
    this.#wire = wire
    this.#hear = hear
  }

  /** @throws when it is refused, or nothing comes */
  static async login(at: Up, name: string, hear: (line: string) => void = () => {}): Promise<Imap> {
    const wire = await Dialogue.open(at.listeners.imap as never)
    const imap = new Imap(wire, hear)
    await imap.#within(() => wire.line())
    await imap.ok(`login ${name} "secret of ${name}"`)
    return imap
  }

  /** A command and all its lines, the last one included. */
  async ask(command: string): Promise<string[]> {
    this.#number += 1
    const tag = `t${this.#number}`
    return await this.#within(async () => {
      this.#wire.send(`${tag} ${command}\r\n`)
      return await this.#until(tag)
    })
  }

  /** @throws Refused */
  async ok(command: string): Promise<string[]> {
    const lines = await this.ask(command)
    const last = lines.at(-1) ?? ''
    if (!/^\S+ OK/.test(last)) throw new Refused(`${command}: ${last}`)
    return lines
  }

  /** Makes a folder unless it is there. @throws Refused */
  async make(folder: string): Promise<void> {
    const last = (await this.ask(`create ${folder}`)).at(-1) ?? ''
    if (!/^\S+ (?:OK|NO \[ALREADYEXISTS\])/.test(last)) throw new Refused(`create ${folder}: ${last}`)
  }

  /** A message as a literal. */
  async append(mailbox: string, text: string): Promise<string[]> {
    this.#number += 1
    const tag = `t${this.#number}`
    return await this.#within(async () => {
      this.#wire.send(`${tag} append ${mailbox} {${text.length}+}\r\n${text}\r\n`)
      return await this.#until(tag)
    })
  }

  /** Waits for news until something is heard or the time is over. */
  async idle(ms: number): Promise<void> {
    this.#number += 1
    const tag = `t${this.#number}`
    await this.#within(async () => {
      this.#wire.send(`${tag} idle\r\n`)
      const done = after(ms, () => this.#wire.send('DONE\r\n'))
      try {
        await this.#until(tag)
      } finally {
        done.cancel()
      }
    })
  }

  close(): void {
    this.#wire.close()
  }

  async #until(tag: string): Promise<string[]> {
    const lines: string[] = []
    for (;;) {
      const line = await this.#wire.line()
      lines.push(line)
      if (line.startsWith(`${tag} `)) return lines
      if (/^\* BYE/.test(line)) throw new Error(line)
      if (line.startsWith('* ')) this.#hear(line)
    }
  }

  async #within<Result>(talk: () => Promise<Result>): Promise<Result> {
    const late = after(patienceMs, () => this.#wire.close())
    try {
      return await talk()
    } catch (error) {
      this.#wire.close()
      throw error
    } finally {
      late.cancel()
    }
  }
}

/** The server said no. */
export class Refused extends Error {}

/** Whether a refusal says that it may be tried again. */
export function isLater(error: unknown): boolean {
  return !(error instanceof Refused) || /\[UNAVAILABLE\]/.test(error.message)
}
