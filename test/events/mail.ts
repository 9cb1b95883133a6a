// Scenarios: mail that comes in, and what people say about it by moving it.

import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { troubleNote } from '#store/sending/forward-trouble.ts'
import { deliver, openLmtp } from '../dialogue.ts'
import { scenario, type World } from './world.ts'

const message = Buffer.from(
  [
    'From: "Sender, The" <sender@example.net>',
    'To: =?utf-8?Q?J=C3=BCrgen?= <to@example.com>, plain@example.com',
    'Cc: Team: one@example.com, "Two" <two@example.com>;',
    'Bcc: hidden@example.com',
    'Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=',
    'Date: Tue, 1 Jul 2025 10:00:00 +0000',
    'Message-ID: <one@example.net>',
    '',
    'Hello',
    '',
  ].join('\r\n'),
)

/** What every payload about the message above says. */
const told = {
  from: { name: 'Sender, The', address: 'sender@example.net' },
  to: [
    { name: 'Jürgen', address: 'to@example.com' },
    { name: '', address: 'plain@example.com' },
  ],
  cc: [
    {
      name: 'Team',
      group: [
        { name: '', address: 'one@example.com' },
        { name: 'Two', address: 'two@example.com' },
      ],
    },
  ],
  bcc: [{ name: '', address: 'hidden@example.com' }],
  messageId: '<one@example.net>',
  subject: 'Grüße',
}

/** Puts the message into a folder and answers where it is. */
async function upload(world: World, path: string) {
  const { id: user, name } = await world.user()
  const mailbox = await world.mailbox(user, path)
  const target = `/users/${user}/mailboxes/${mailbox}/messages`
  const stored = await world.running.raw('POST', target, {
    body: message,
    headers: { 'content-type': 'message/rfc822' },
  })
  const { id } = ((await stored.json()) as { message: { id: number } }).message
  const { idate } = await world.ok('GET', `${target}/${id}`)
  return { user, name, mailbox, id, idate: new Date(idate).toISOString(), target: `${target}/${id}` }
}

export const mailScenarios = [
  scenario({
    event: 'message.received',
    name: 'LMTP',
    prepare: world => world.user(),
    async act(world, { id: user, address }) {
      const lmtp = await openLmtp(world.running.at('lmtp'))
      const [reply = ''] = await deliver(lmtp, 'bounce@example.net', [address], message)
      lmtp.close()
      if (!reply.startsWith('250')) throw new Error(reply)
      const mailbox = await world.mailbox(user, 'INBOX')
      const { results } = await world.ok('GET', `/users/${user}/mailboxes/${mailbox}/messages`)
      const [{ id, size }] = results
      return { user, mailbox, message: id, size, from: 'sender@example.net', subject: 'Grüße' }
    },
  }),
  scenario({
    event: 'marked.spam',
    name: 'PUT message with moveTo Junk',
    prepare: world => upload(world, 'INBOX'),
    async act(world, { user, target, idate }) {
      const moveTo = await world.mailbox(user, '\\Junk')
      await world.ok('PUT', target, { moveTo })
      return { user, mailbox: moveTo, message: 1, ...told, date: idate }
    },
  }),
  scenario({
    event: 'marked.ham',
    name: 'PUT message with moveTo out of Junk',
    prepare: world => upload(world, '\\Junk'),
    async act(world, { user, target, idate }) {
      const moveTo = await world.mailbox(user, 'INBOX')
      await world.ok('PUT', target, { moveTo })
      return { user, mailbox: moveTo, message: 1, ...told, date: idate }
    },
  }),
  scenario({
    event: 'marked.ham',
    name: 'PUT message with flagged',
    prepare: world => upload(world, 'INBOX'),
    async act(world, { user, mailbox, target, idate }) {
      await world.ok('PUT', target, { flagged: true })
      return { user, mailbox, message: 1, ...told, date: idate }
    },
  }),
  scenario({
    event: 'marked.spam',
    name: 'IMAP MOVE to Junk',
    prepare: world => upload(world, 'INBOX'),
    async act(world, { user, name, idate }) {
      await world.imap({ name }, 'SELECT INBOX', 'MOVE 1 Junk')
      return { user, mailbox: await world.mailbox(user, '\\Junk'), message: 1, ...told, date: idate }
    },
    also: ['authentication.succeeded'],
  }),
  scenario({
    event: 'marked.ham',
    name: 'IMAP COPY out of Junk; what then goes to Trash says nothing',
    prepare: world => upload(world, '\\Junk'),
    async act(world, { user, name, idate }) {
      await world.imap({ name }, 'SELECT Junk', 'COPY 1 INBOX', 'MOVE 1 Trash')
      return { user, mailbox: await world.mailbox(user, 'INBOX'), message: 1, ...told, date: idate }
    },
    also: ['authentication.succeeded'],
  }),
  scenario({
    event: 'message.sent',
    name: 'POST /users/:user/submit, when the relay has taken it',
    prepare: world => world.user(),
    async act(world, { id: user }) {
      const form = { to: [{ address: 'far@example.net' }], subject: 'Hello', text: 'Hello' }
      const { message: queued } = await world.ok('POST', `/users/${user}/submit`, form)
      return { user, queueId: queued.queueId, recipient: 'far@example.net' }
    },
  }),
  scenario({
    event: 'message.bounced',
    name: 'POST /users/:user/submit, when the relay has refused it',
    prepare: world => world.user(),
    async act(world, { id: user }) {
      const form = { to: [{ address: 'nobody@example.net' }], subject: 'Hello', text: 'Hello' }
      const { message: queued } = await world.ok('POST', `/users/${user}/submit`, form)
      const said = { kind: 'unknown', status: '5.1.1', response: '550 5.1.1 no such user' }
      const standing = { final: true, reported: false, proven: true }
      return { user, queueId: queued.queueId, recipient: 'nobody@example.net', ...said, ...standing }
    },
    // The report to its sender.
    also: ['message.received', 'message.sent'],
  }),
  scenario({
    event: 'forward.failing',
    name: 'a message for somebody whose forward has failed for days',
    prepare: world => world.user('forward', { targets: ['nobody@example.net'] }),
    async act(world, { id: user, address }) {
      const { writer } = world.running.teal.core
      const since = now() - 3 * limits.time.day
      for (const last of [since, since + 1, now()]) {
        const row = { owner: user, target: 'nobody@example.net', last, status: '5.1.1', response: '', told: true }
        await writer.write(troubleNote, { ...row, warned: false })
      }
      const lmtp = await openLmtp(world.running.at('lmtp'))
      await deliver(lmtp, 'sender@example.net', [address], message)
      lmtp.close()
      return { user, address, target: 'nobody@example.net', since: new Date(since).toISOString() }
    },
    // The message, and the letter about the forward.
    also: ['message.bounced', 'message.received', 'message.received', 'message.sent'],
  }),
  scenario({
    event: 'sending.paused',
    name: 'POST /users/:user/outbound/pause',
    prepare: world => world.user(),
    async act(world, { id: user }) {
      await world.ok('POST', `/users/${user}/outbound/pause`)
      return { user, reason: 'manual', recipients: 0, usual: 0 }
    },
  }),
  scenario({
    event: 'sending.resumed',
    name: 'POST /users/:user/outbound/resume',
    async prepare(world) {
      const user = await world.user()
      await world.ok('POST', `/users/${user.id}/outbound/pause`)
      return user
    },
    async act(world, { id: user }) {
      await world.ok('POST', `/users/${user}/outbound/resume`)
      return { user }
    },
  }),
  scenario({
    event: 'sending.limit.near',
    name: 'POST /users/:user/submit with four recipients of five a day',
    prepare: world => world.user('near', { recipients: 5 }),
    async act(world, { id: user }) {
      const to = ['a', 'b', 'c', 'd'].map(name => ({ address: `${name}@example.net` }))
      const sendTime = new Date(now() + limits.time.hour).toISOString()
      await world.ok('POST', `/users/${user}/submit`, { to, subject: 'Hello', text: 'Hello', sendTime })
      return { user, used: 4, allowed: 5 }
    },
    // The letter about it.
    also: ['message.received', 'message.sent'],
  }),
]
