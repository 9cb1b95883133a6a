// One round of everything: the line protocols under assault, MIME with rubbish, and a model of mailboxes beside them.

import { MimeScanner, scanMime } from '#mail/mime/mime.ts'
import { outline } from '#mail/mime/outline.ts'
import type { Teal } from '#service'
import { Client } from '../imap/client.ts'
import { Model } from '../imap/model.ts'
import { accessTo } from '../running.ts'
import { Random } from './random.ts'
import { imapSpeech, pop3Speech, smtpSpeech } from './speech.ts'
import { assault } from './wire.ts'

/** How long a connection may take to come to its end. */
const endMs = 20_000

export interface RoundSize {
  readonly assaults: number
  readonly messages: number
  readonly steps: number
}

/**
 * Runs a round against a service and checks that it still serves.
 *
 * @throws with the seed when something hangs, fails or differs
 */
export async function fuzzRound(teal: Teal, seed: number, size: RoundSize): Promise<void> {
  const random = new Random(seed)
  const service = accessTo(() => teal)
  const user = `fuzz${seed}`
  await service.user(user)
  const address = `${user}@example.com`
  const password = `secret of ${user}`
  const fronts = [
    [service.at('imap'), imapSpeech(user, password)],
    [service.at('pop3'), pop3Speech(user, password)],
    [service.at('lmtp'), smtpSpeech('LHLO', address)],
    [service.at('smtp'), smtpSpeech('EHLO', address)],
  ] as const
  for (let count = 0; count < size.assaults; count += 4) {
    await Promise.all(fronts.map(([at, speech]) => assault(random, at, speech, endMs)))
  }
  for (let count = 0; count < size.messages; count++) mimeRound(random)
  const name = `model${seed}`
  await service.user(name)
  const model = new Model(seed)
  await model.open(service.at('imap'), name, 1 + random.below(4))
  try {
    for (let step = 0; step < size.steps; step++) await model.step()
  } finally {
    model.close()
  }
  const client = await Client.login(service.at('imap'), user, 'INBOX')
  await client.ok('FETCH 1:* (FLAGS ENVELOPE BODYSTRUCTURE BODY.PEEK[])')
  client.close()
  const broken = await teal.check()
  if (broken.length > 0) throw new Error(broken.join('\n'))
}

const pieces = [
  'Content-Type: multipart/mixed; boundary=b',
  'Content-Type: message/rfc822',
  'Content-Type: text/plain; charset="',
  'Subject: =?utf-8?b?////?=',
  'From: <a@b>, "x',
  '--b',
  '--b--',
  '--',
  '',
  ' folded',
  'Content-Transfer-Encoding: base64',
  '\0\0',
  'x'.repeat(2000),
  '=?x?q?=',
  'MIME-Version: 1.0',
  'Date: never',
  'To: a:b;,;;<>',
]

/** A message of any shape is taken apart the same way whatever chunks it comes in. */
function mimeRound(random: Random): void {
  const lines = Array.from({ length: 1 + random.below(60) }, () =>
    random.chance(0.9) ? random.pick(pieces) : random.bytes(random.below(40)).toString('latin1'),
  )
  const message = Buffer.from(lines.join(random.pick(['\r\n', '\n', '\r', '\r\n'])), 'latin1')
  const whole = scanMime(message)
  const scanner = new MimeScanner()
  for (let at = 0; at < message.length; ) {
    const to = Math.min(message.length, at + 1 + random.below(50))
    scanner.write(message.subarray(at, to))
    at = to
  }
  const [one, other] = [outline(whole), outline(scanner.end())].map(made => JSON.stringify(made))
  if (one !== other) throw new Error(`chunks change the outline of ${JSON.stringify(message.toString('latin1'))}`)
}
