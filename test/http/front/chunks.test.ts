// A list that is printed in slices is the text that it is printed as in one go.

import { expect, test } from 'vitest'
import { inSlices } from '#http/front/chunks.ts'

const row = {
  id: 1,
  'a "name"': 'line\nend\u2028',
  none: undefined,
  empty: [],
  nothing: {},
  list: [{ deep: [1, 'ü😀'] }, null],
}

test.each([
  ['rows', { success: true, total: 2, specialUse: null, results: [row, { ...row, id: 2 }], more: false }],
  ['what has no text', { gone: undefined, results: [undefined, null, () => 1, 'a\nb', [[]], {}], last: {} }],
  ['many rows', { results: Array.from({ length: 5000 }, (_, id) => ({ ...row, id })) }],
  ['rows with long lists', { results: [{ ...row, list: Array(100).fill(row), last: [[Array(50).fill(1)]] }, null] }],
  ['no rows', { results: [], success: true }],
])('%s', async (_, body) => {
  const text = Buffer.concat(await inSlices(body, '')).toString()
  expect(text).toBe(`${JSON.stringify(body, null, 2)}\n`)
})
