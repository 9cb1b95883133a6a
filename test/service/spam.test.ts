// What users move into and out of Junk is learned, once, and shows in the score of what comes afterwards, part by part.

import { expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { deliver, openLmtp } from '../dialogue.ts'
import { useTeal } from '../running.ts'

const service = useTeal()
let count = 0

interface Account {
  readonly id: string
  readonly address: string
  readonly inbox: string
  readonly junk: string
}

async function account(more: Record<string, unknown> = {}): Promise<Account> {
  const name = `spam${++count}`
  const id = await service.user(name, more)
  const folder = async (path: string) =>
    (await service.call('GET', `/users/${id}/mailboxes/resolve?path=${path}`)).body.id
  return { id, address: `${name}@example.com`, inbox: await folder('INBOX'), junk: await folder('Junk') }
}

const offer = () => {
  count += 1
  return Buffer.from(
    `From: Best pills <win${count}@shop${count}.example>\r\nSubject: CHEAP pills number ${count}!!!\r\n` +
      `Message-ID: <s${count}@shop.example>\r\n\r\nBuy pills now at http://shop${count}.example/buy and save money\r\n`,
  )
}
const letter = () => {
  count += 1
  return Buffer.from(
    `From: Ann <ann@work.example>\r\nSubject: Re: garden ${count}\r\nMessage-ID: <h${count}@work.example>\r\n` +
      `In-Reply-To: <x${count}@work.example>\r\n\r\nAbout the garden: shall we meet on Tuesday, as you said?\r\n`,
  )
}

async function bring({ address }: Account, messages: readonly Buffer[]): Promise<void> {
  const lmtp = await openLmtp(service.at('lmtp'))
  for (const message of messages) await deliver(lmtp, 'x@example.net', [address], message)
  lmtp.close()
}

const many = (make: () => Buffer, length: number) => Array.from({ length }, make)

async function move({ id }: Account, from: string, to: string): Promise<void> {
  const { body } = await service.call('PUT', `/users/${id}/mailboxes/${from}/messages`, { message: '1:*', moveTo: to })
  expect(body).toMatchObject({ success: true })
}

/** The newest message of a folder with its score. */
async function newest({ id }: Account, folder: string) {
  const messages = `/users/${id}/mailboxes/${folder}/messages`
  const [{ id: uid } = { id: 0 }] = (await service.call('GET', messages)).body.results
  return (await service.call('GET', `${messages}/${uid}`)).body
}

/** Brings one that is classified: on a busy machine the thread may take longer than a message waits for it. */
async function judged(one: Account, make: () => Buffer) {
  for (;;) {
    const message = make()
    await bring(one, [message])
    const id = /^Message-ID: (.*)\r$/m.exec(message.toString())?.[1]
    for (const folder of [one.inbox, one.junk]) {
      const found = await newest(one, folder)
      if (found.messageId === id && content(found) !== undefined) return { ...found, folder }
    }
  }
}

/** Waits until nothing waits to be learned. */
async function learned(): Promise<void> {
  for (;;) {
    const metrics = await (await service.raw('GET', '/metrics')).text()
    if (/^\w*spam_marks_waiting 0$/m.test(metrics)) return
    await sleep(100)
  }
}

const content = ({ spam }: { spam?: { parts: { name: string }[] } }) =>
  spam?.parts.find(({ name }) => name === 'classifier') as { score: number; info: string } | undefined

/** An account that learned `length` of each kind. */
async function taught(length: number, more: Record<string, unknown> = {}): Promise<Account> {
  const one = await account(more)
  await bring(one, many(letter, length))
  await move(one, one.inbox, one.junk)
  await move(one, one.junk, one.inbox)
  const away = (await service.call('POST', `/users/${one.id}/mailboxes`, { path: 'Kept' })).body.id
  await move(one, one.inbox, away)
  await bring(one, many(offer, length))
  await move(one, one.inbox, one.junk)
  await learned()
  return one
}

test('an account that said nothing gets no score', async () => {
  const one = await account()
  await bring(one, [offer()])
  expect((await newest(one, one.inbox)).spam).toBeUndefined()
})

test('moves teach; a few add to the score what is seen, and move nothing', async () => {
  const one = await taught(15)
  const spam = await judged(one, offer)
  expect(spam.folder).toBe(one.inbox)
  expect(content(spam)).toEqual({
    name: 'classifier',
    score: 0,
    info: 'learned 15 spam, 15 ham; not counted alone',
  })
  expect(content(await judged(one, letter))?.score).toBeLessThan(0)
})

test('the same message is learned once, and moved back it is taken back', async () => {
  const one = await taught(12)
  await move(one, one.junk, one.inbox)
  await move(one, one.inbox, one.junk)
  await learned()
  expect(content(await judged(one, letter))?.info).toMatch(/^learned 12 spam, 12 ham/)
  await move(one, one.junk, one.inbox)
  await learned()
  expect(content(await judged(one, letter))?.info).toMatch(/^learned 0 spam, 24 ham/)
})

test('what an account taught goes with it', async () => {
  const one = await taught(12)
  expect((await service.call('DELETE', `/users/${one.id}`)).body).toMatchObject({ success: true })
})

test('from 250 of each kind on, spam goes to Junk by what was learned alone, and the trace says why', async () => {
  const one = await taught(250)
  const spam = await judged(one, offer)
  expect(spam).toMatchObject({ folder: one.junk, subject: expect.stringMatching(/^CHEAP/) })
  expect(spam.spam.score).toBeGreaterThanOrEqual(50)
  const { results } = (await service.call('GET', `/users/${one.id}/filters/trace`)).body
  expect(results[0]).toMatchObject({ verdict: { spam: true, by: 'level' }, stored: 'Junk', spam: spam.spam })
  expect((await judged(one, letter)).folder).toBe(one.inbox)
})

test('an account that takes everything keeps its INBOX', async () => {
  const one = await account({ spamLevel: 100 })
  await bring(one, [offer()])
  expect((await newest(one, one.inbox)).subject).toMatch(/^CHEAP/)
})
