// Messages made to be costly to work out: others have their turn meanwhile, and what comes out is what it was in one go.

import { expect, test } from 'vitest'
import { prepare } from '#actors/delivery/prepare.ts'
import { limits } from '#lib/limits.ts'
import { addressesOf, readingAddresses } from '#mail/address/address-list.ts'
import { Header } from '#mail/header/header.ts'
import { scanMime } from '#mail/mime/mime.ts'
import { outline, outlining } from '#mail/mime/outline.ts'
import { scanningMime } from '#mail/mime/scanning.ts'
import { useTeal } from '../../running.ts'

const service = useTeal()

const fields = ['From', 'Sender', 'Reply-To', 'To', 'Cc', 'Bcc']
const type = 'Content-Type: multipart/mixed; boundary=b\r\n'
const head = fields.map(name => `${name}: ${'a:b@example.net,'.repeat(limits.mime.addressWordsMax / 4)}\r\n`).join('')
const parts = '--b\r\nContent-Type: text/x; a=b\r\n\r\nx\r\n'.repeat(limits.mime.partsMax - 1)
const hostile = Buffer.from(`${type}${head}\r\n${parts}--b--\r\n`)

/** Steps of a generator, and what it ends with. */
function stepped<Result>(steps: Generator<undefined, Result>): { count: number; result: Result } {
  for (let count = 0; ; count++) {
    const { done, value } = steps.next()
    if (done === true) return { count, result: value }
  }
}

test('no step of an outline is more than one part or some hundred words', () => {
  const root = scanMime(hostile)
  const { count, result } = stepped(outlining(root))
  // Twice each part: as an attachment, and in BODY and BODYSTRUCTURE.
  expect(count).toBeGreaterThan(2 * (limits.mime.partsMax - 2))
  expect(result).toEqual(outline(scanMime(hostile)))
})

test('a tree is the same whether it is read in steps or in one go', () => {
  const { count, result } = stepped(scanningMime(hostile))
  expect(count).toBeGreaterThan(1)
  expect(outline(result)).toEqual(outline(scanMime(hostile)))
})

test('a list of addresses is read in steps, once', () => {
  const header = new Header(Buffer.from(`To: ${'a:'.repeat(30_000)}\r\n\r\n`))
  const { count, result } = stepped(readingAddresses(header, 'to'))
  expect(count).toBeGreaterThan(10)
  expect(addressesOf(header, 'to')).toBe(result)
  expect(stepped(readingAddresses(header, 'to'))).toEqual({ count: 0, result })
})

test('the loop turns while a message made to be costly is worked out', async () => {
  const { core } = service.teal
  const received = await core.bodies.receive(hostile)
  let turns = 0
  let over = false
  const turn = () => {
    turns += 1
    if (!over) setImmediate(turn)
  }
  setImmediate(turn)
  const prepared = await prepare(received, core.sequence)
  over = true
  await received.discard()
  expect(prepared.attachments).toBe(true)
  expect(turns).toBeGreaterThan(2)
})

test('a name of thousands of words is cut, and what follows it is still read', () => {
  const header = new Header(Buffer.from(`To: ${'x '.repeat(20_000)}<a@example.net>, b@example.net\r\n\r\n`))
  const [first, second] = addressesOf(header, 'to')
  expect(first).toEqual({ name: 'x '.repeat(limits.mime.entryWordsMax).trim(), address: 'a@example.net' })
  expect(second).toEqual({ name: '', address: 'b@example.net' })
})
