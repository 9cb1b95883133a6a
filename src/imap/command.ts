// What a command of the table is: a name, the states in which it may be given, how its arguments are read, what it does.
//
// `parse` sees the command's text and what the session has enabled, nothing else; `run` gets the session. A refusal is a
// Fault: BadCommand becomes BAD, every other NO with the response code of the fault table.

import type { Session, State } from './session.ts'
import type { Decoder } from './wire/decoder.ts'
import type { Gathered } from './wire/gather.ts'

/** How a command went well; `code` is a response code without brackets. */
export interface Done {
  readonly code?: string
  readonly text?: string
  /** The command answers NO although it did something (RFC 5530 EXPUNGEISSUED and the like). */
  readonly no?: true
  /** It named messages by their numbers: that some are gone is told at the end of another command (RFC 7162 3.2.10.2). */
  readonly numbered?: true
  /** There is no answer yet: it is what this makes of the client's next line (IDLE). */
  readonly next?: (session: Session, line: string) => Promise<Done | undefined>
}

/** A command by numbers meant messages that somebody else took away, of which the client was not told yet (RFC 2180 4). */
export const someGone: Done = { no: true, code: 'EXPUNGEISSUED', text: 'Some of the messages no longer exist' }

export interface CommandRow {
  /** Upper case. */
  readonly name: string
  readonly states: readonly State[]
  /** Whether `UID name` exists. */
  readonly uid?: true
  /** Its literals are messages: from the first on they stay on the wire, for `run` to read, refused or not. */
  readonly messages?: true
  /** Whether messages may be told gone at its end (RFC 9051 7.5.1); commands by sequence number hold that back. */
  readonly expunges: 'always' | 'uid' | 'never'
  /** Capabilities this command stands for. */
  readonly capabilities: readonly string[]
  parse(decoder: Decoder, byUid: boolean): unknown
  run(session: Session, input: never, byUid: boolean, gathered: Gathered): Promise<Done | undefined> | Done | undefined
}

/** A row of the table; `Input` is what `parse` gives and `run` takes. */
export function command<Input>(row: {
  name: string
  states: readonly State[]
  uid?: true
  messages?: true
  expunges?: CommandRow['expunges']
  capabilities?: readonly string[]
  parse(decoder: Decoder, byUid: boolean): Input
  run(session: Session, input: Input, byUid: boolean, gathered: Gathered): Promise<Done | undefined> | Done | undefined
}): CommandRow {
  return { ...row, expunges: row.expunges ?? 'always', capabilities: row.capabilities ?? [] }
}

export const anyState: readonly State[] = ['greeted', 'authenticated', 'selected']
export const loggedIn: readonly State[] = ['authenticated', 'selected']
export const inMailbox: readonly State[] = ['selected']

/** For commands without arguments. */
export function nothing(decoder: Decoder): void {
  decoder.end()
}
