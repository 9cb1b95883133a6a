// The table of commands: name, where it exists, what EHLO says because of it, and what it does.
//
// `run` answers or throws a Fault, which the session answers. Whatever a command does to the transaction happens only after
// everything that can refuse it. What is announced is computed from this table, so that nothing is offered that is not there.

import { monotonic, now } from '#lib/clock.ts'
import { Fault, smtpReply } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { MessageNotice } from '#mail/made/notice.ts'
import { Disconnected } from '#net/connection.ts'
import { takesPasswords } from '#net/sasl.ts'
import { authenticate, mechanismLine } from './auth.ts'
import { deliver } from './delivery.ts'
import { needsUtf8, readArgument } from './grammar.ts'
import { Arrival, discardChunk, readChunk, readDots } from './message.ts'
import {
  messageNotice,
  onlyRelease,
  recipientNotice,
  releaseLine,
  releaseTime,
  takesNotices,
  tlsNotice,
} from './notice.ts'
import type { Session, Transaction } from './session.ts'
import type { Setting } from './setting.ts'

export interface Command {
  readonly name: string
  /** Whether a listener with this setting has the command; everywhere without. */
  exists?(setting: Setting): boolean
  /** Lines of EHLO that this session gets because of the command. */
  extensions?(session: Session): readonly string[]
  run(session: Session, argument: string): void | Promise<void>
}

const commands: readonly Command[] = [
  { name: 'HELO', exists: ({ lmtp }) => !lmtp, run: helo },
  { name: 'EHLO', exists: ({ lmtp }) => !lmtp, run: ehlo },
  { name: 'LHLO', exists: ({ lmtp }) => lmtp, run: ehlo },
  {
    name: 'MAIL',
    extensions: ({ setting, connection }) => [
      ...['PIPELINING', `SIZE ${setting.bounds.messageBytesMax}`, '8BITMIME', 'SMTPUTF8'],
      ...(takesNotices(setting) ? [releaseLine(now())] : []),
      // RFC 8689 2: not where it could not be kept.
      ...(connection.secure ? ['REQUIRETLS'] : []),
    ],
    run: mail,
  },
  {
    name: 'RCPT',
    extensions: ({ setting }) => ['ENHANCEDSTATUSCODES', ...(takesNotices(setting) ? ['DSN'] : [])],
    run: recipient,
  },
  { name: 'DATA', run: data },
  { name: 'BDAT', extensions: () => ['CHUNKING'], run: chunk },
  { name: 'RSET', run: rset },
  { name: 'NOOP', run: session => session.reply(250, '2.0.0', 'OK') },
  { name: 'VRFY', run: verify },
  {
    name: 'EXPN',
    run: () => {
      throw new Fault('CommandNotOffered')
    },
  },
  { name: 'HELP', run: session => session.reply(214, '2.0.0', 'See RFC 5321') },
  { name: 'QUIT', run: quit },
  {
    name: 'STARTTLS',
    exists: ({ tls, implicitTls }) => tls !== undefined && !implicitTls,
    extensions: ({ connection }) => (connection.secure ? [] : ['STARTTLS']),
    run: startTls,
  },
  {
    name: 'AUTH',
    exists: setting => setting.authenticate !== undefined,
    extensions: ({ connection, setting }) =>
      takesPasswords(connection, setting.cleartext) ? [`AUTH ${mechanismLine}`] : [],
    run: authenticate,
  },
]

const byName = new Map(commands.map(command => [command.name, command]))

/** The command of this name that a listener has. */
export function commandOf(setting: Setting, name: string): Command | undefined {
  const command = byName.get(name)
  return command?.exists?.(setting) === false ? undefined : command
}

async function helo(session: Session, argument: string): Promise<void> {
  await greet(session, argument, false)
  session.connection.write(`250 ${session.setting.hostname}\r\n`)
}

async function ehlo(session: Session, argument: string): Promise<void> {
  await greet(session, argument, true)
  const { setting } = session
  const here = commands.filter(({ exists }) => exists?.(setting) !== false)
  const lines = [setting.hostname, ...here.flatMap(({ extensions }) => extensions?.(session) ?? [])]
  session.connection.write(lines.map((line, at) => `250${at < lines.length - 1 ? '-' : ' '}${line}\r\n`).join(''))
}

const heloPattern = /^[^\s\0-\x1f\x7f]{1,255}$/

async function greet(session: Session, argument: string, extended: boolean): Promise<void> {
  if (!heloPattern.test(argument)) throw new Fault('InputValidationError', { text: 'Say who you are' })
  await session.reset()
  session.helo = argument
  session.extended = extended
}

async function mail(session: Session, argument: string): Promise<void> {
  const { setting } = session
  if (session.helo === '' || session.transaction !== undefined) throw new Fault('BadSequence')
  if (setting.authenticate !== undefined && !setting.open && session.user === undefined) throw new Fault('AuthRequired')
  const { address, parameters } = readArgument(argument, 'FROM:')
  let utf8 = false
  let declaredBytes = 0
  let notice: MessageNotice = {}
  let release: number | undefined
  for (const [name, value] of parameters) {
    const asked = takesNotices(setting) ? messageNotice(name, value) : undefined
    const wish = asked ?? tlsNotice(name, value, session.connection.secure)
    const held = takesNotices(setting) ? releaseTime(name, value, now()) : undefined
    if (wish !== undefined) notice = { ...notice, ...wish }
    else if (held !== undefined) release = onlyRelease(release, held)
    else if (name === 'SIZE') declaredBytes = sizeOf(value)
    else if (name === 'BODY' && /^(7BIT|8BITMIME)$/i.test(value)) continue
    else if (name === 'SMTPUTF8' && value === '') utf8 = true
    else if (name === 'AUTH' && value !== '' && setting.authenticate !== undefined) continue
    else throw new Fault('ParameterUnknown')
  }
  if (declaredBytes > setting.bounds.messageBytesMax) {
    const fault = new Fault('MessageTooLarge')
    setting.backend.declined?.({ from: address, recipients: [], size: declaredBytes, speaker: session }, fault)
    throw fault
  }
  if (needsUtf8(address) && !utf8) throw new Fault('PathNeedsUtf8')
  if (address !== '' && !address.includes('@'))
    throw new Fault('SenderMalformed', { text: 'The address has no domain' })
  session.declaredBytes = declaredBytes
  await setting.backend.sender?.(address, session)
  const begun = monotonic()
  session.transaction = { from: address, utf8, notice, release, recipients: [], begun, arrival: undefined }
  session.reply(250, '2.1.0', 'OK')
}

/** RFC 1870 3: up to 20 digits. */
function sizeOf(value: string): number {
  if (!/^\d{1,20}$/.test(value)) throw new Fault('InputValidationError', { text: 'SIZE wants a number of bytes' })
  return Number(value)
}

async function recipient(session: Session, argument: string): Promise<void> {
  const { setting, transaction } = session
  if (transaction === undefined || transaction.arrival !== undefined) throw new Fault('BadSequence')
  if (transaction.recipients.length >= setting.bounds.recipientsMax) {
    return session.answer(smtpReply(new Fault('TooManyRecipients')))
  }
  const { address, parameters } = readArgument(argument, 'TO:')
  const notice = recipientNotice(setting, parameters)
  if (needsUtf8(address) && !transaction.utf8) throw new Fault('PathNeedsUtf8')
  try {
    transaction.recipients.push(await setting.backend.recipient(withDomain(address, setting.hostname), session, notice))
  } catch (error) {
    return refuseRecipient(session, error)
  }
  session.reply(250, '2.1.5', 'OK')
}

/** Unknown recipients are daily business for a relay that speaks LMTP; over SMTP many of them are a search for names. */
function refuseRecipient(session: Session, error: unknown): void {
  session.report(error)
  session.answer(smtpReply(error))
  session.refusedRecipients += 1
  if (session.setting.lmtp || session.refusedRecipients < limits.smtp.refusedRecipientsMax) return
  throw new Fault('TooManyErrors')
}

/** Only the postmaster may be written to without a domain (RFC 5321 4.5.1). */
function withDomain(address: string, hostname: string): string {
  if (address.includes('@')) return address
  if (address.toLowerCase() !== 'postmaster') throw new Fault('PathMalformed', { text: 'The address has no domain' })
  return `${address}@${hostname}`
}

async function data(session: Session, argument: string): Promise<void> {
  if (argument !== '') throw new Fault('InputValidationError', { text: 'DATA takes no argument' })
  const transaction = receivable(session)
  if (transaction.arrival !== undefined) throw new Fault('BadSequence')
  const arrival = open(session, transaction)
  session.connection.write('354 End with a dot on a line of its own\r\n')
  await readDots(session.connection, arrival)
  await deliver(session, transaction, arrival)
}

/** RFC 3030: the bytes follow the command at once, so they are read even where they are refused. */
async function chunk(session: Session, argument: string): Promise<void> {
  const [, digits, last] = /^(\d{1,10})( LAST)?$/i.exec(argument) ?? []
  const length = Number(digits)
  if (digits === undefined || length > limits.smtp.discardBytesMax) {
    session.close()
    throw new Fault('InputValidationError', { text: 'What follows is not known, so the session ends' })
  }
  let transaction: Transaction
  try {
    transaction = receivable(session)
    transaction.arrival ??= open(session, transaction)
  } catch (error) {
    await discardChunk(session.connection, length, session.chunkMs)
    throw error
  }
  const { arrival } = transaction
  await readChunk(session.connection, length, arrival)
  if (last !== undefined) return deliver(session, transaction, arrival)
  arrival.check()
  session.reply(250, '2.0.0', `${length} bytes`)
}

/** The transaction if it may receive a message now. @throws Fault BadSequence, NoRecipients */
function receivable({ transaction }: Session): Transaction {
  if (transaction === undefined) throw new Fault('BadSequence')
  if (transaction.recipients.length === 0) throw new Fault('NoRecipients')
  return transaction
}

function open(session: Session, transaction: Transaction): Arrival {
  const { backend, bounds } = session.setting
  const { from, recipients } = transaction
  const arrival = new Arrival(backend.open(session), bounds, reason => {
    // Who went away, or began anew, was not refused.
    if (reason instanceof Disconnected) return
    backend.declined?.({ from, recipients, size: arrival.size, speaker: session }, reason)
  })
  transaction.arrival = arrival
  return arrival
}

async function rset(session: Session): Promise<void> {
  await session.reset()
  session.reply(250, '2.0.0', 'OK')
}

/** RFC 5321 4.1.1.6: it wants a name. */
function verify(session: Session, argument: string): void {
  if (argument === '') throw new Fault('InputValidationError', { text: 'VRFY wants a name' })
  session.reply(252, '2.1.5', 'Send mail to find out')
}

function quit(session: Session): void {
  session.reply(221, '2.0.0', `${session.setting.hostname} closes`)
  session.close()
}

/** RFC 3207 4.2: everything the peer said before is forgotten, what it sent too early is dropped. */
async function startTls(session: Session, argument: string): Promise<void> {
  const { connection, setting } = session
  if (argument !== '') throw new Fault('InputValidationError', { text: 'STARTTLS takes no argument' })
  if (connection.secure || setting.tls === undefined) throw new Fault('BadSequence')
  await session.reset()
  session.helo = ''
  session.extended = false
  setting.backend.left?.(session)
  session.user = undefined
  session.reply(220, '2.0.0', 'Go ahead')
  await connection.startTls(setting.tls)
}
