// Models where mail is judged: asked for once, again when they changed, and again after they could not be had.

import { expect, test } from 'vitest'
import { SpamModels } from '#actors/screening/spam-models.ts'
import { Fault } from '#lib/fault.ts'
import { modelBytes, SpamModel } from '#mail/spam/model.ts'
import type { SharedModel } from '#mail/spam/tasks.ts'

const features = { grams: Uint32Array.of(1, 2, 3), words: Uint32Array.of(4, 8, 12) }

function learned(rev: number): SharedModel {
  const memory = new SharedArrayBuffer(modelBytes)
  const model = new SpamModel(undefined, memory)
  for (let times = 0; times < rev; times++) {
    model.count(features, true, 1)
    model.count({ grams: features.grams, words: Uint32Array.of(16) }, false, 1)
  }
  return { rev, spam: rev, ham: rev, memory }
}

function modelsOver(answer: (user: number) => SharedModel | null) {
  const asked: number[] = []
  const run = async (_: string, { user }: { user: number }) => {
    asked.push(user)
    return answer(user)
  }
  return { asked, models: new SpamModels({ run } as unknown as ConstructorParameters<typeof SpamModels>[0]) }
}

test('a model is asked for once for any number of messages, and says what it says on its thread', async () => {
  const { asked, models } = modelsOver(() => learned(3))
  const all = await Promise.all([models.of(7, 3), models.of(7, 3)])
  expect(asked).toEqual([7])
  const other = new SpamModel(new SpamModel(undefined, learned(3).memory).bytes())
  for (const model of [...all, await models.of(7, 3)]) expect(model?.score(features)).toBe(other.score(features))
  expect(other.score(features)).toBeGreaterThan(0)
  expect(asked).toEqual([7])
})

test('one that learned is asked for anew, and one that learned more meanwhile counts as what it is', async () => {
  let rev = 1
  const { asked, models } = modelsOver(() => learned(rev))
  const before = await models.of(7, 1)
  rev = 3
  expect((await models.of(7, 2))?.score(features)).not.toBe(before?.score(features))
  await models.of(7, 3)
  expect(asked).toEqual([7, 7])
})

test('one that could not be had is asked for again with the next message', async () => {
  let fails = true
  const { asked, models } = modelsOver(() => {
    if (fails) throw new Fault('Overloaded')
    return learned(1)
  })
  await expect(models.of(7, 1)).rejects.toMatchObject({ code: 'Overloaded' })
  fails = false
  expect(await models.of(7, 1)).toBeInstanceOf(SpamModel)
  expect(asked).toEqual([7, 7])
})

test('of an account that has none by now there is none, which is not remembered', async () => {
  const { asked, models } = modelsOver(() => null)
  expect(await models.of(7, 1)).toBeUndefined()
  expect(await models.of(7, 1)).toBeUndefined()
  expect(asked).toEqual([7, 7])
})

test('the latest accounts stay, as many as there is memory for', async () => {
  const { asked, models } = modelsOver(() => learned(1))
  for (let user = 1; user <= 7; user++) await models.of(user, 1)
  await models.of(7, 1)
  await models.of(1, 1)
  expect(asked).toEqual([1, 2, 3, 4, 5, 6, 7, 1])
})
