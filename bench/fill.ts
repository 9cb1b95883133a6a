// A service in this process with many messages in one account: what the benches of listings and searches measure on.
//
// Texts are made of invented words by a fixed seed, frequent and rare ones as in real language, so that a run can be made again.

import { prepare } from '#actors/delivery/prepare.ts'
import { appendMessage } from '#actors/mailbox/append.ts'
import type { Core } from '#core'
import { findUser } from '#store/accounts/users.ts'
import { listMailboxes } from '#store/mailboxes/mailboxes.ts'

/** Messages on their way at once. */
const inFlight = 128

/** Puts `count` messages into a folder of an account. */
export async function fill(core: Core, user: string, mailbox: string, count: number, first = 0): Promise<void> {
  const handle = core.system.handle(user)
  const words = new Words(first + 1)
  let next = first
  const worker = async () => {
    while (next < first + count) {
      const number = next++
      const received = await core.bodies.receive(messageOf(words, number))
      const prepared = await prepare(received, core.sequence)
      const append = {
        ...{ prepared, to: { id: mailbox }, prefix: '', keywords: [], meta: { source: 'import' } },
        ...{ flags: number % 5 === 0 ? 0 : 1, idate: 1.6e12 + number * 1000, once: false, limited: false },
      }
      await handle.run(appendMessage, append)
      await received.discard()
    }
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
}

/** Id and number of a folder by its path. */
export async function folderOf(
  core: Core,
  user: string,
  path: string,
): Promise<{ id: string; num: number; user: number }> {
  const found = await findUser(core.read, user)
  const mailbox = (await listMailboxes(core.read, found?.num ?? 0)).find(one => one.path === path)
  if (found === undefined || mailbox === undefined) throw new Error(`no folder ${path}`)
  return { id: mailbox.id, num: mailbox.num, user: found.num }
}

/** A word that stands in most messages. */
export function frequentWord(): string {
  return new Words(1).most
}

/** Words of the texts, frequent and rare ones, as people would look for them. */
export function wordsToType(count: number): string[] {
  return new Words(7)
    .line(count * 2)
    .split(' ')
    .filter(word => word.length > 3)
    .slice(0, count)
}

function messageOf(words: Words, number: number): Buffer {
  const lines = Array.from({ length: 18 }, () => words.line(12))
  // One message in a hundred thousand has the word that the search looks for.
  if (number % 100_000 === 50_000 % 100_000 || number === 500) lines.push(`the zyzzogeton of number ${number}`)
  const head = [
    `From: Sender ${number % 300} <sender${number % 300}@example.net>`,
    'To: Receiver <receiver@example.com>',
    `Subject: ${words.line(6)}`,
    `Message-ID: <bench.${number}@example.net>`,
    `Date: ${new Date(1.6e12 + number * 1000).toUTCString()}`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${lines.join('\r\n')}\r\n`)
}

const consonants = 'bcdfghjklmnprstvw'
const vowels = 'aeiou'

/** A vocabulary of some ten thousand words, the n-th as frequent as 1/n. */
class Words {
  readonly #all: string[] = []
  #state: number

  constructor(seed: number) {
    this.#state = 42
    for (let at = 0; at < 12_000; at++) this.#all.push(this.#invent())
    this.#state = seed
  }

  get most(): string {
    return this.#all[0] ?? ''
  }

  line(length: number): string {
    return Array.from({ length }, () => this.#all[Math.floor(this.#all.length ** this.#next()) - 1] ?? 'and').join(' ')
  }

  #invent(): string {
    let word = ''
    for (let syllable = 0; syllable < 1 + this.#next() * 4; syllable++) {
      word += consonants[Math.floor(this.#next() * consonants.length)]
      word += vowels[Math.floor(this.#next() * vowels.length)]
    }
    return word
  }

  /** In [0, 1), Lehmer. */
  #next(): number {
    this.#state = (this.#state * 48_271) % 2_147_483_647
    return this.#state / 2_147_483_647
  }
}
