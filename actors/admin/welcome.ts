// What a new account finds in its INBOX: the operator's messages with the account's names filled in.
//
// They are part of the unit that makes the account, so there is none without the other. Names are the user's own words:
// they are put in as text of one line and cannot add header fields.

import { newId } from '#lib/id.ts'
import { formatDate } from '#mail/header/date.ts'
import { encodeWords } from '#mail/header/words.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Sequence } from '#store/engine/sequence.ts'
import { prepare } from '../delivery/prepare.ts'
import type { Append } from '../mailbox/append.ts'

export interface Newcomer {
  readonly name: string
  readonly username: string
  readonly address: string
}

export interface Greeting {
  readonly messages: readonly Append[]
  /** When the unit is settled. */
  discard(): Promise<void>
}

export class Welcome {
  readonly #bodies: Bodies
  readonly #sequence: Sequence
  readonly #templates: readonly string[]

  /** @param templates whole messages with `{name}`, `{username}`, `{address}`, `{date}` and `{id}` in them */
  constructor(bodies: Bodies, sequence: Sequence, templates: readonly string[]) {
    this.#bodies = bodies
    this.#sequence = sequence
    this.#templates = templates
  }

  /** The messages for an account that is about to be made at the moment `at`. */
  async prepare(newcomer: Newcomer, at: number): Promise<Greeting> {
    const arrived = await Promise.all(
      this.#templates.map(template => this.#bodies.receive(Buffer.from(fill(template, newcomer, at)))),
    )
    const messages: Append[] = []
    for (const received of arrived) {
      const prepared = await prepare(received, this.#sequence)
      const rest = { flags: 0, keywords: [], meta: { source: 'welcome' }, once: false, limited: false }
      messages.push({ prepared, to: 'INBOX', prefix: '', ...rest })
    }
    const discard = async () => {
      for (const received of arrived) await received.discard()
    }
    return { messages, discard }
  }
}

function fill(template: string, { name, username, address }: Newcomer, at: number): string {
  const text = template.replace(/\r?\n/g, '\r\n')
  const values = { name: plain(name), username, address, date: formatDate(at), id: newId() }
  // Where a header is, a name is a phrase: no character of it means anything, and others than ASCII are encoded.
  const phrase = encodeWords(values.name.replace(/[\s"\\<>,;:@()[\]]+/g, ' ').trim())
  const end = text.indexOf('\r\n\r\n')
  const head = end < 0 ? text : text.slice(0, end)
  return put(head, { ...values, name: phrase }) + put(text.slice(head.length), values)
}

function put(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(name|username|address|date|id)\}/g, (_, key: string) => values[key] ?? '')
}

function plain(value: string): string {
  return value.replace(/[\u0000-\u001f\u007f]+/g, ' ')
}
