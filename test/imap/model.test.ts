import { expect, test } from 'vitest'
import { useTeal } from '../running.ts'
import { Model } from './model.ts'

const service = useTeal()

test.each([1, 2, 3, 4])('random commands of several sessions, seed %i', async seed => {
  await service.user(`model${seed}`)
  const model = new Model(seed)
  await model.open(service.at('imap'), `model${seed}`, 3)
  try {
    for (let step = 0; step < 500; step++) await model.step()
  } finally {
    model.close()
  }
  expect(model.steps.length).toBeGreaterThan(200)
})
