// A line between threads: what was said before an answer leaves another way is with the other side by then.

import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { type Calls, hearAtOnce, Link, leaveAtOnce, newLine } from '#lib/process/link.ts'

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

test('what waits on a line is heard at once where somebody asks for that, in order and no second time', async () => {
  const [here, there] = newLine()
  const heard: number[] = []
  const words = { changed: (each: number) => void heard.push(each) }
  const line = new Link<Calls, Said, Calls, Said>(here, { calls: {}, words })
  const say = (...said: number[]) => there.postMessage(said.map(each => ({ word: 'changed', said: each })))
  say(1, 2)
  say(3)
  expect(heard).toEqual([])
  hearAtOnce()
  expect(heard).toEqual([1, 2, 3])
  say(4)
  await expect.poll(() => heard).toEqual([1, 2, 3, 4])
  line.break(new Error('over'))
  hearAtOnce()
  expect(heard).toEqual([1, 2, 3, 4])
})
