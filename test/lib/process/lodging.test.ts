// Databases that are thrown away share the thread that writes to them, as if each had its own.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { letPass } from '#lib/lasting.ts'
import { startWriterThread } from '#store/writer/thread.ts'

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'teal-lodging-'))
  const stay = letPass(made)
  onTestFinished(() => {
    stay()
    rmSync(made, { recursive: true, force: true })
  })
  return made
}

const start = (at = folder()) => startWriterThread(join(at, 'teal.db'), true)

/** Resolves when a writer has answered a request with no units in it. */
function works({ thread, hear }: ReturnType<typeof start>): Promise<unknown> {
  return Promise.race([
    new Promise(resolve => {
      hear((_, answer) => resolve(answer))
      thread.send('write', { units: [], bytes: 0 })
    }),
    thread.gone.then(() => 'gone'),
  ])
}

test('one that closes, and one that cannot begin, leave the others theirs', async () => {
  const [first, second] = [start(), start()]
  expect(await Promise.all([first.ready, second.ready])).toEqual([
    { made: true, loss: null },
    { made: true, loss: null },
  ])
  const at = folder()
  mkdirSync(join(at, 'teal.db'))
  const broken = start(at)
  await expect(broken.ready).rejects.toMatchObject({ code: expect.any(String) })
  await broken.thread.gone
  expect(broken.thread.failure).toBeUndefined()
  await first.thread.close()
  expect(first.thread.failure).toBeUndefined()
  expect(await works(second)).toMatchObject({ value: { failures: [], broken: null } })
  await second.thread.close()
})

test('when the thread dies all hear of it, and who comes next gets another', async () => {
  const [first, second] = [start(), start()]
  await Promise.all([first.ready, second.ready])
  first.thread.send('write', null)
  await Promise.all([first.thread.gone, second.thread.gone])
  expect(first.thread.failure).toBeInstanceOf(TypeError)
  expect(second.thread.failure).toBe(first.thread.failure)
  const third = start()
  expect(await third.ready).toMatchObject({ made: true })
  expect(await works(third)).toMatchObject({ value: { broken: null } })
  await third.thread.close()
})
