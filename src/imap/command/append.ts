// APPEND with MULTIAPPEND, UTF8 and literal8 (RFC 9051 6.3.12, RFC 3502, RFC 6855 4, RFC 7889).
//
// Its literals are messages, read straight into the store of bodies a chunk at a time. What can be refused is refused
// before a literal is invited; one that comes uninvited is read and forgotten, as far as that is not too much. Several
// messages are stored in one unit, all or none.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { parseInternalDate } from '#mail/header/date.ts'
import { formatRanges, toRanges } from '#mail/numbers.ts'
import { command, type Done, loggedIn } from '../command.ts'
import type { Received, Target } from '../mail-store.ts'
import type { Session } from '../session.ts'
import { Decoder, malformed } from '../wire/decoder.ts'
import { type Announced, announcedBy, discard, type Gathered, nextLine, take } from '../wire/gather.ts'
import { flagsOf, requireRoomFor } from './change.ts'

interface Head {
  readonly flags: number
  readonly keywords: readonly string[]
  readonly idate: number | undefined
  /** The message stands in `UTF8 (...)`. */
  readonly utf8: boolean
}

interface Arrived {
  readonly head: Head
  readonly received: Received
}

const append = command({
  name: 'APPEND',
  states: loggedIn,
  messages: true,
  // Between its messages stands more of it: all is read where they are.
  parse: () => undefined,
  async run(session, _, __, gathered) {
    if (gathered.message === undefined) throw malformed('A message literal is missing')
    const arrived: Arrived[] = []
    try {
      const { mailbox, failure } = await receiveAll(session, gathered, arrived)
      if (failure !== undefined) throw failure
      if (mailbox === undefined) throw malformed('A mailbox is missing')
      await session.checkStanding()
      return await storeAll(session, mailbox, arrived)
    } finally {
      for (const { received } of arrived) await received.discard()
    }
  },
})

export const appendCommands = [append]

/** Reads message after message; after something was refused, what still comes is thrown away. */
async function receiveAll(
  session: Session,
  gathered: Gathered,
  arrived: Arrived[],
): Promise<{ mailbox: Target | undefined; failure: unknown }> {
  let mailbox: Target | undefined
  let room: number | undefined
  let bytes = 0
  let failure: unknown = gathered.refused
  let parts = gathered.parts
  let message = gathered.message
  while (message !== undefined) {
    let head: Head | undefined
    if (failure === undefined) {
      try {
        const decoder = new Decoder(parts, session.utf8)
        if (mailbox === undefined) {
          decoder.space()
          mailbox = await session.target(decoder.mailbox())
        }
        head = parseHead(decoder)
        await requireRoomFor(session, mailbox, head.keywords)
        if (message.size === 0) throw new Fault('EmptyMessage')
        // RFC 7889 2: whatever else speaks against it, too.
        if (message.size > session.services.messageBytesMax) throw new Fault('MessageTooLarge')
        await session.requireTransfer('imapUpload', message.size)
        bytes += message.size
        // Until all are there each is held, and together they may be no more than the largest message.
        if (arrived.length >= limits.imap.appendMessagesMax || bytes > session.services.messageBytesMax)
          throw new Fault('TooManyMessages')
        // Who does not wait for leave sends it all the same, and is told when it is to be stored.
        if (message.waits) room ??= await roomLeft(session)
        if (room !== undefined && bytes > room) throw new Fault('OverQuotaError')
      } catch (error) {
        failure = error
      }
    }
    if (failure !== undefined || head === undefined) {
      if (message.waits) break
      await discard(session.connection, message.size, discardMax(session))
    } else {
      const taken = await receive(session, message, head)
      if (taken instanceof Error) failure = taken
      else arrived.push(taken)
    }
    const { text, refused } = await nextLine(session.connection)
    failure ??= refused
    message = announcedBy(text)
    const tail = message === undefined ? text : text.slice(0, text.lastIndexOf(message.binary ? '~{' : '{'))
    const rest = head?.utf8 === true && tail.startsWith(')') ? tail.slice(1) : tail
    if (message === undefined && rest.trim() !== '') failure ??= malformed('Unexpected text after the message')
    if (head?.utf8 === true && !tail.startsWith(')')) failure ??= malformed('Expected )')
    parts = [rest]
  }
  return { mailbox, failure }
}

/** Bytes that may still be stored. Messages are stored later, and judged once more then. */
async function roomLeft({ mail }: Session): Promise<number> {
  const { storage, allowed } = await mail.usage()
  return allowed - storage
}

/** Bytes of a refused message that are read so that its sender hears why; of strangers far less. */
function discardMax(session: Session): number {
  return session.loggedIn ? limits.imap.discardMessageBytesMax : limits.imap.discardBytesMax
}

async function receive(session: Session, message: Announced, head: Head): Promise<Arrived | Error> {
  const intake = session.mail.intake(message.size)
  let failure: Error | undefined
  if (message.waits) session.invite()
  try {
    await take(session.connection, message.size, async chunk => {
      if (failure !== undefined) return
      try {
        await intake.write(chunk)
      } catch (error) {
        // The literal has to be read to its end whatever became of it.
        failure = error as Error
      }
    })
    session.mail.transferred('imapUpload', message.size)
    if (failure === undefined) return { head, received: await intake.finish() }
    await intake.abort()
    return failure
  } catch (error) {
    await intake.abort()
    throw error
  }
}

/** `SP [flags SP] [date-time SP]` and, with UTF8, its opening. */
function parseHead(decoder: Decoder): Head {
  decoder.space()
  let flags: string[] = []
  if (decoder.peek() === '(') {
    flags = decoder.flagList()
    decoder.space()
  }
  let idate: number | undefined
  if (decoder.peek() === '"') {
    const date = parseInternalDate(decoder.string())
    if (date === null) throw malformed('The date is not valid')
    idate = date
    decoder.space()
  }
  const utf8 = decoder.accept('UTF8 (')
  if (decoder.rest() !== '') throw malformed('The arguments of APPEND are not valid')
  const { bits, keywords } = flagsOf(flags)
  return { flags: bits, keywords, idate, utf8 }
}

async function storeAll(session: Session, mailbox: Target, arrived: readonly Arrived[]): Promise<Done> {
  const messages = arrived.map(({ head: { flags, keywords, idate }, received }) => ({
    received,
    flags,
    keywords,
    idate,
  }))
  const uids = await session.mail.append(mailbox, messages)
  return { code: `APPENDUID ${mailbox.uidValidity} ${formatRanges(toRanges(uids))}` }
}
