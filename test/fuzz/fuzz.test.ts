import { expect, test } from 'vitest'
import { useTeal } from '../running.ts'
import { fuzzRound } from './round.ts'

const service = useTeal()

test.each([101, 102])('hostile input in every state, seed %i', async seed => {
  await fuzzRound(service.teal, seed, { assaults: 120, messages: 300, steps: 60 })
  expect(await service.teal.check()).toEqual([])
})
