// The classifier of spam alone: what it sees of a message, how it learns, unlearns, and what it is bounded by.

import { expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { featuresOf, gramSlots, wordSlots } from '#mail/spam/features.ts'
import { learn, type Sample } from '#mail/spam/learning.ts'
import { modelBytes, SpamModel } from '#mail/spam/model.ts'
import { packFeatures, unpackFeatures } from '#mail/spam/packed.ts'
import { readSpamText } from '#mail/spam/spam-text.ts'

const random = () => {
  let state = 7
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

async function featuresFrom(text: string) {
  return featuresOf(await readSpamText(Buffer.from(text.replace(/\r?\n/g, '\r\n'))))
}

const offers = ['pills', 'watches', 'loans', 'casino', 'diploma']
const topics = ['kernel', 'garden', 'meeting', 'invoice', 'concert']

async function letters(count: number): Promise<Sample[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const isSpam = at % 2 === 0
      const [topic = '', host] = isSpam ? [offers[at % 5], `shop${at}.example`] : [topics[at % 5], 'work.example']
      const text = isSpam
        ? `From: Best ${topic} <win@${host}>\nSubject: CHEAP ${topic}!!!\n\nBuy ${topic} now at http://${host}/buy?id=${at} and save money ${at}\n`
        : `From: Ann <ann@${host}>\nSubject: Re: ${topic} ${at}\nIn-Reply-To: <x${at}@work.example>\n\nAbout the ${topic}: shall we meet on Tuesday, as you said in number ${at}?\n`
      return { features: await featuresFrom(text), isSpam }
    }),
  )
}

test('what it learned it tells apart, also in messages it did not see', async () => {
  const all = await letters(60)
  const model = new SpamModel()
  await learn(model, all.slice(0, 40), [], random())
  for (const { features, isSpam } of all.slice(40)) expect(model.score(features) > 0).toBe(isSpam)
  expect([model.spam, model.ham]).toEqual([20, 20])
})

test('a model that learned nothing says nothing', async () => {
  const [one] = await letters(1)
  expect(new SpamModel().score(one?.features as Sample['features'])).toBe(0)
})

test('a model comes back from its bytes as it was', async () => {
  const all = await letters(20)
  const model = new SpamModel()
  await learn(model, all, [], random())
  const bytes = model.bytes()
  expect(bytes.length).toBe(modelBytes)
  const again = new SpamModel(bytes)
  again.spam = model.spam
  again.ham = model.ham
  for (const { features } of all) expect(again.score(features)).toBe(model.score(features))
})

test('counts that are taken back leave nothing', async () => {
  const all = await letters(20)
  const model = new SpamModel()
  for (const { features, isSpam } of all) model.count(features, isSpam, 1)
  for (const { features, isSpam } of all) model.count(features, isSpam, -1)
  expect(model.bytes().every(byte => byte === 0)).toBe(true)
  expect([model.spam, model.ham]).toEqual([0, 0])
})

test('ten thousand of the same are forgotten slowly, not overflown', async () => {
  const [spam, ham] = (await letters(2)) as [Sample, Sample]
  const model = new SpamModel()
  for (let at = 0; at < 10_000; at++) {
    model.count(spam.features, true, 1)
    model.count(ham.features, false, 1)
  }
  await learn(model, [spam, ham], [], random())
  expect(model.score(spam.features)).toBeGreaterThan(5)
  expect(model.score(ham.features)).toBeLessThan(-5)
})

test('what was said once is forgotten in the end, and what is still said is not', async () => {
  const all = await letters(40)
  const [once, ham] = all as [Sample, Sample]
  const others = all.slice(1)
  const shared = new Set(others.flatMap(({ features }) => [...features.words]))
  const own = { grams: new Uint32Array(), words: once.features.words.filter(slot => !shared.has(slot)) }
  const model = new SpamModel()
  for (const { features, isSpam } of all) model.count(features, isSpam, 1)
  expect(model.score(own)).toBeGreaterThan(0)
  for (let at = 0; at < 3 * limits.spam.halvedAfter; at++) {
    const { features, isSpam } = others[at % others.length] as Sample
    model.count(features, isSpam, 1)
  }
  expect(model.score(own)).toBe(0)
  expect(model.score(ham.features)).toBeLessThan(0)
  expect(model.spam + model.ham).toBe(40 + 3 * limits.spam.halvedAfter)
})

test('pairs of words are seen, in the order in which they stand', async () => {
  const one = await featuresFrom('Subject: x\n\nred apple green pear\n')
  const other = await featuresFrom('Subject: x\n\ngreen apple red pear\n')
  expect(new Set(other.words)).not.toEqual(new Set(one.words))
})

test('which kind is learned first matters little', async () => {
  const all = await letters(400)
  const order = (first: boolean) => all.slice(40).toSorted(one => (one.isSpam === first ? -1 : 1))
  for (const first of [true, false]) {
    const model = new SpamModel()
    const list = order(first)
    for (let at = 0; at < list.length; at += 60) {
      await learn(model, list.slice(at, at + 60), list.slice(0, at), random())
    }
    for (const { features, isSpam } of all.slice(0, 40)) expect(model.score(features) > 0).toBe(isSpam)
  }
})

test('others have their turn while it learns, and it learns the same', async () => {
  const all = await letters(40)
  const [whole, sliced] = [new SpamModel(), new SpamModel()]
  let turns = 0
  await learn(whole, all, [], random())
  await learn(sliced, all, [], random(), {
    spent: true,
    turn: async () => {
      turns += 1
    },
  })
  expect(turns).toBeGreaterThan(all.length)
  expect(sliced.bytes()).toEqual(whole.bytes())
})

test('slots stay within their tables, each once', async () => {
  for (const { features } of await letters(10)) {
    for (const [slots, max] of [
      [features.grams, gramSlots],
      [features.words, wordSlots],
    ] as const) {
      expect(new Set(slots).size).toBe(slots.length)
      expect(slots.length).toBeGreaterThan(10)
      for (const slot of slots) expect(slot).toBeLessThan(max)
    }
  }
})

test('features come back from their bytes, the smallest and largest slots included', () => {
  for (const slots of [[], [0], [0, 1], [1, 128, 129, 16_384], [gramSlots - 1], [0, gramSlots - 1]]) {
    const features = { grams: Uint32Array.from(slots), words: Uint32Array.from(slots.toReversed()) }
    const again = unpackFeatures(packFeatures(features))
    expect(again).toEqual({ grams: Uint32Array.from(slots), words: Uint32Array.from(slots) })
  }
})

test('case and white space of pieces do not matter, the field they stand in does', async () => {
  const one = await featuresFrom('Subject: Cheap\n\nSome  text\n\tof a letter\n')
  const same = await featuresFrom('Subject: cHEAP\n\nsome text of  a LETTER\n')
  const other = await featuresFrom('Comment: Cheap\n\nsome text of a letter\n')
  expect(new Set(same.grams)).toEqual(new Set(one.grams))
  expect(new Set(other.grams)).not.toEqual(new Set(one.grams))
})

test('verdicts of other filters are not looked at', async () => {
  const plain = await featuresFrom('Subject: x\n\ntext\n')
  const judged = await featuresFrom(
    'X-Spam-Status: Yes, score=20\nX-Rspamd-Score: 20\nX-Bogosity: Spam\nSubject: x\n\ntext\n',
  )
  expect(judged).toEqual(plain)
})

const hostile: Record<string, string> = {
  nothing: '',
  'no header': '\n\n',
  'open tags': `Content-Type: text/html\n\n${'<a href='.repeat(20_000)}`,
  'open comments': `Content-Type: text/html\n\n${'<!--'.repeat(20_000)}`,
  'scripts without an end': `Content-Type: text/html\n\n${'<script>'.repeat(20_000)}`,
  'one long word': `Subject: x\n\n${'a'.repeat(300_000)}`,
  links: `Subject: x\n\n${'http://'.repeat(30_000)}`,
  'at signs': `From: ${'@'.repeat(60_000)}\n\nx`,
  'many fields': `${Array.from({ length: 5000 }, (_, at) => `X-${at}: y`).join('\n')}\n\nx`,
  'broken parts': `Content-Type: multipart/mixed; boundary=a\n\n${'--a\n\n'.repeat(5000)}`,
}

for (const [name, text] of Object.entries(hostile)) {
  test(`bounded and never thrown at: ${name}`, async () => {
    const { grams, words } = await featuresFrom(text)
    expect(grams.length).toBeLessThanOrEqual(8500)
    expect(words.length).toBeLessThanOrEqual(12_000)
    const model = new SpamModel()
    await learn(model, [{ features: { grams, words }, isSpam: true }], [], random())
    expect(Number.isFinite(model.score({ grams, words }))).toBe(true)
  })
}
