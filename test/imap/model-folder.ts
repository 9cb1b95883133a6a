// Folders as the model knows them, what each session was told of one, and the words in which it is compared.

import type { Client } from './client.ts'
import type { Wish } from './wishes.ts'

export interface Message {
  readonly uid: number
  flags: Set<string>
  /** When it changed last, and by which command. */
  change: number
}

export class Folder {
  readonly name: string
  uidNext = 1
  messages: Message[] = []

  constructor(name: string) {
    this.name = name
  }

  /** As a notice of NOTIFY tells it, without what the model does not know. */
  get status(): string {
    const unseen = this.messages.filter(message => !message.flags.has('\\Seen')).length
    return `STATUS ${this.name} MESSAGES ${this.messages.length} UIDNEXT ${this.uidNext} UNSEEN ${unseen}`
  }

  at(uid: number): Message | undefined {
    return this.messages.find(message => message.uid === uid)
  }

  add(flags: Iterable<string>, change: number): number {
    const uid = this.uidNext++
    this.messages.push({ uid, flags: new Set(flags), change })
    return uid
  }
}

export interface View {
  readonly name: string
  readonly folder: Folder
  readonly readOnly: boolean
  /** Uids in the order the client knows. */
  uids: number[]
  uidNext: number
  /** Changes up to this one are told. */
  told: number
  /** Flags were told the last time. */
  counted: boolean
  /** Changes of its own that the answer told. */
  readonly own: Set<number>
}

export interface Member {
  readonly client: Client
  /** It enabled QRESYNC: it counts changes, and hears of messages that went by their uids. */
  readonly qresync: boolean
  view: View | undefined
  wish: Wish | undefined
  /** Changed since it was last told, and how. */
  readonly changed: Map<Folder, { messages: boolean; flags: boolean }>
}

export const order = ['\\Seen', '\\Answered', '\\Flagged', '\\Deleted', '\\Draft']
/** A session that was to be told something and was not by then will not be. */
const lateMs = 10_000

/** A line that should come, or undefined when it does not. */
export async function inTime(line: Promise<string>): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(() => resolve(undefined), lateMs)
  })
  try {
    return await Promise.race([line, late])
  } finally {
    clearTimeout(timer)
  }
}

/** What the model predicts of what was said, in its words. */
export function shown(lines: readonly string[]): string[] {
  return (
    lines
      .filter(line => !/^\* (FLAGS|OK \[PERMANENTFLAGS|\d+ RECENT)/.test(line))
      // Change numbers are the service's to choose.
      .map(line => (/ FETCH /.test(line) ? line.replace(/ MODSEQ \(\d+\)/, '') : line))
      .map(line => line.replace(/^(\* OK \[HIGHESTMODSEQ) \d+.*/, '$1'))
      .map(line => line.replace(/^\* OK \[COPYUID \d+ (\S+) (\S+)\].*/, 'COPYUID $1 $2'))
      .map(line =>
        line.replace(
          /^\* STATUS "(\w+)" \((MESSAGES \d+ UIDNEXT \d+) UIDVALIDITY \d+ (UNSEEN \d+)( HIGHESTMODSEQ \d+)?\)$/,
          'STATUS $1 $2 $3',
        ),
      )
  )
}

export function sameSet(left: ReadonlySet<string>, right: ReadonlySet<string>): boolean {
  return left.size === right.size && [...left].every(item => right.has(item))
}

/** System flags in their order, then keywords as they came. */
export function text(flags: ReadonlySet<string>): string {
  return [...order.filter(flag => flags.has(flag)), ...[...flags].filter(flag => !flag.startsWith('\\'))].join(' ')
}

export function numberSet(numbers: readonly number[]): string {
  const parts: string[] = []
  let from = 0
  for (const [at, number] of numbers.entries()) {
    if (at === 0 || number !== (numbers[at - 1] as number) + 1) from = number
    if (numbers[at + 1] !== number + 1) parts.push(from === number ? String(from) : `${from}:${number}`)
  }
  return parts.join(',')
}
