// How a model learns: what is new is counted once and trained several times, among what it learned before.
//
// Alone, a new message would push aside what older ones taught; so each pass goes through the new ones and a draw of the
// kept ones, as many spam as ham of them. Pure: chance is the caller's, order of what is given does not matter.

import type { Slices } from '#lib/pace.ts'
import type { Features } from './features.ts'
import type { SpamModel } from './model.ts'

export interface Sample {
  readonly features: Features
  readonly isSpam: boolean
}

const passes = 6
/** Kept samples that are trained with each new one, and with a single one at least. */
const keptPerFresh = 4
const keptLeast = 64

/**
 * In one go, or with a turn for others wherever `slices` say so: nobody may use the model meanwhile.
 * @param random gives numbers from 0 to 1, 1 excluded
 */
export async function learn(
  model: SpamModel,
  fresh: readonly Sample[],
  kept: readonly Sample[],
  random: () => number,
  slices?: Slices,
): Promise<void> {
  for (const { features, isSpam } of fresh) model.count(features, isSpam, 1)
  const spam = kept.filter(({ isSpam }) => isSpam)
  const ham = kept.filter(({ isSpam }) => !isSpam)
  const drawn = Math.max(keptLeast, keptPerFresh * fresh.length) / 2
  for (let pass = 0; pass < passes; pass++) {
    const all = [...fresh, ...draw(spam, drawn, random), ...draw(ham, drawn, random)]
    for (const { features, isSpam } of shuffled(all, random)) {
      model.train(features, isSpam)
      if (slices?.spent) await slices.turn()
    }
  }
}

function draw(samples: readonly Sample[], count: number, random: () => number): readonly Sample[] {
  if (samples.length <= count) return samples
  return Array.from({ length: count }, () => samples[Math.floor(random() * samples.length)] as Sample)
}

function shuffled(samples: readonly Sample[], random: () => number): Sample[] {
  const result = [...samples]
  for (let at = result.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    const one = result[at] as Sample
    result[at] = result[other] as Sample
    result[other] = one
  }
  return result
}
