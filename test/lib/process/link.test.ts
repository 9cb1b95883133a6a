// A line between threads: what was said before an answer leaves another way is with the other side by then.

import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { type Calls, Link, leaveAtOnce, newLine } from '#lib/process/link.ts'

type Said = { readonly changed: number }

const received = (port: MessagePort): unknown => receiveMessageOnPort(port)?.message

test('what is said leaves in one piece with the round, or at once where somebody asks for that', async () => {
  const [here, there] = newLine()
  const line = new Link<Calls, Said, Calls, Said>(here, { calls: {}, words: { changed() {} } })
  const frames = (...said: number[]) => said.map(each => ({ word: 'changed', said: each }))
  line.tell('changed', 1)
  line.tell('changed', 2)
  expect(received(there)).toBeUndefined()
  leaveAtOnce()
  expect(received(there)).toEqual(frames(1, 2))
  leaveAtOnce()
  line.tell('changed', 3)
  await new Promise(setImmediate)
  expect([received(there), received(there)]).toEqual([frames(3), undefined])
  line.break(new Error('over'))
})
