// Spans on their way to a collector: gathered, posted in batches, and dropped where it is slow or gone, without anybody waiting.

import { expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { exportText, parseTraceparent } from '#lib/tracing/span.ts'
import { Tracer } from '#lib/tracing/tracer.ts'

interface Sent {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly object[] }[] }[]
}

function traced(post: (text: string) => Promise<number>, sample = 100) {
  const counts = { sent: 0, dropped: 0 }
  const onSpans = (result: 'sent' | 'dropped', count: number) => {
    counts[result] += count
  }
  const tracer = new Tracer({ post, sample, resource: {}, version: '1', onSpans })
  const span = (parent?: Parameters<Tracer['begin']>[0]) =>
    tracer.end(tracer.begin(parent), { name: 'x', kind: 'server', attributes: {} })
  return { tracer, counts, span }
}

const spansOf = (text: string) => (JSON.parse(text) as Sent).resourceSpans[0]?.scopeSpans[0]?.spans ?? []

test('a full batch is posted at once, and the rest at the end', async () => {
  const posted: number[] = []
  const { tracer, counts, span } = traced(async text => {
    posted.push(spansOf(text).length)
    return 0
  })
  for (let at = 0; at < limits.tracing.batchMax + 3; at++) span()
  await expect.poll(() => posted).toEqual([limits.tracing.batchMax])
  await tracer.close()
  expect(posted).toEqual([limits.tracing.batchMax, 3])
  expect(counts).toEqual({ sent: limits.tracing.batchMax + 3, dropped: 0 })
})

test('a collector that takes nothing costs a bounded number of spans, and the rest is dropped and counted', async () => {
  let answer: (() => void) | undefined
  const { tracer, counts, span } = traced(() =>
    answer === undefined ? new Promise(resolve => (answer = () => resolve(0))) : Promise.resolve(0),
  )
  const { batchMax, waitingMax } = limits.tracing
  for (let at = 0; at < batchMax + waitingMax + 1000; at++) span()
  expect(counts).toEqual({ sent: 0, dropped: 1000 })
  answer?.()
  await tracer.close()
  expect(counts).toEqual({ sent: batchMax + waitingMax, dropped: 1000 })
})

test('one that is gone is left alone for a while', async () => {
  let asked = 0
  const { tracer, counts, span } = traced(async () => {
    asked += 1
    throw new Error('gone')
  })
  for (let at = 0; at < limits.tracing.batchMax; at++) span()
  await expect.poll(() => counts.dropped).toBe(limits.tracing.batchMax)
  for (let at = 0; at < limits.tracing.batchMax; at++) span()
  await new Promise(resolve => setImmediate(resolve))
  expect(asked).toBe(1)
  await tracer.close()
  expect(counts).toEqual({ sent: 0, dropped: 2 * limits.tracing.batchMax })
})

test('what a collector refuses of a batch is counted as dropped', async () => {
  const { tracer, counts, span } = traced(async () => 1)
  for (let at = 0; at < 3; at++) span()
  await tracer.close()
  expect(counts).toEqual({ sent: 2, dropped: 1 })
})

test('the share that is kept is of whole traces, and a caller decides for its own', async () => {
  const texts: string[] = []
  const { tracer, span } = traced(async text => {
    texts.push(text)
    return 0
  }, 0)
  for (let at = 0; at < 50; at++) span()
  span({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: true })
  span({ traceId: 'c'.repeat(32), spanId: 'b'.repeat(16), sampled: false })
  await tracer.close()
  expect(texts.flatMap(spansOf)).toMatchObject([{ traceId: 'a'.repeat(32), parentSpanId: 'b'.repeat(16) }])
})

test.each<[string, boolean | undefined]>([
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', true],
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00', false],
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03', true],
  ['01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-comes', true],
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more', undefined],
  ['ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', undefined],
  ['00-00000000000000000000000000000000-b7ad6b7169203331-01', undefined],
  ['00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01', undefined],
  ['00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01', undefined],
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331', undefined],
  ['garbage', undefined],
])('traceparent %s', (text, sampled) => {
  expect(parseTraceparent(text)?.sampled).toBe(sampled)
})

test('numbers of 64 bits and types are as the protocol has them', () => {
  const span = {
    ...{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), parentId: undefined, name: 'x', kind: 'client' as const },
    ...{ start: 1_700_000_000_123, ms: 1.5, failed: true },
    attributes: { text: 'a'.repeat(1000), whole: 7, part: 0.5, yes: true, none: undefined },
  }
  const [shown] = spansOf(exportText([span], { 'service.name': 'teal' }, '1'))
  expect(shown).toMatchObject({
    ...{
      kind: 3,
      startTimeUnixNano: '1700000000123000000',
      endTimeUnixNano: '1700000000124500000',
      status: { code: 2 },
    },
    attributes: [
      { key: 'text', value: { stringValue: 'a'.repeat(limits.tracing.textLengthMax) } },
      { key: 'whole', value: { intValue: '7' } },
      { key: 'part', value: { doubleValue: 0.5 } },
      { key: 'yes', value: { boolValue: true } },
    ],
  })
  expect(shown).not.toHaveProperty('parentSpanId')
})
