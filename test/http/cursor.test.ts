// Paging: forward and back gives identical pages, and numbers of pages follow (api-semantics 1.8).

import { expect, test } from 'vitest'
import { type Cursor, decodeCursor, type List, type Paging, paged } from '../../src/http/cursor.ts'

interface Row {
  name: string
  id: number
}

const rows: Row[] = Array.from({ length: 7 }, (_, index) => ({ name: `n${Math.floor(index / 2)}`, id: index }))

const list: List<Row> = {
  key: ['string', 'number'],
  boundary: row => [row.name, row.id],
  fetch(boundary, direction, count) {
    const ordered = direction === 'forward' ? rows : rows.toReversed()
    const from = boundary === null ? 0 : ordered.findIndex(row => row.id === boundary[1]) + 1
    return ordered.slice(from, from + count)
  },
}

const at = (text: string | false): Cursor | undefined =>
  text === false ? undefined : (decodeCursor(text) ?? undefined)

test('forward to the end and back to the start', async () => {
  const pages = [await paged({ limit: 3 }, list)]
  for (let next = pages[0]?.nextCursor; next; next = pages.at(-1)?.nextCursor) {
    pages.push(await paged({ limit: 3, next: at(next) }, list))
  }
  expect(pages.map(page => page.rows.map(row => row.id))).toEqual([[0, 1, 2], [3, 4, 5], [6]])
  expect(pages.map(page => page.page)).toEqual([1, 2, 3])
  expect(pages.map(page => page.previousCursor !== false)).toEqual([false, true, true])

  const back = [pages[2]]
  for (let previous = back[0]?.previousCursor; previous; previous = back.at(-1)?.previousCursor) {
    back.push(await paged({ limit: 3, previous: at(previous) }, list))
  }
  expect(back.toReversed().map(page => page?.rows)).toEqual(pages.map(page => page.rows))
  expect(back.map(page => page?.page)).toEqual([3, 2, 1])
  expect(back.at(-1)?.nextCursor).toBe(pages[0]?.nextCursor)
})

test('one page, and none', async () => {
  expect(await paged({ limit: 7 }, list)).toMatchObject({ page: 1, previousCursor: false, nextCursor: false })
  const empty = await paged({ limit: 3 }, { ...list, fetch: () => [] })
  expect(empty).toEqual({ page: 1, previousCursor: false, nextCursor: false, rows: [] })
})

test('next wins over previous', async () => {
  const first = await paged({ limit: 2 }, list)
  const next = at(first.nextCursor)
  const both: Paging = { limit: 2, next, previous: next }
  expect((await paged(both, list)).rows.map(row => row.id)).toEqual([2, 3])
})

test('a page whose rows have gone leads back to those that are left', async () => {
  const left = (ids: readonly number[]): List<Row> => ({
    ...list,
    fetch(boundary, direction, count) {
      const some = rows.filter(row => ids.includes(row.id))
      const from = boundary === null ? -1 : Number(boundary[1])
      const ahead = some.filter(row => (direction === 'forward' ? row.id > from : row.id < from))
      return (direction === 'forward' ? ahead : ahead.toReversed()).slice(0, count)
    },
  })
  const first = await paged({ limit: 3 }, list)
  const second = await paged({ limit: 3, next: at(first.nextCursor) }, list)
  const start = await paged({ limit: 2, previous: at(second.previousCursor) }, left([4, 5, 6]))
  expect(start).toMatchObject({ page: 1, previousCursor: false, rows: [{ id: 4 }, { id: 5 }] })
  const rest = await paged({ limit: 2, next: at(start.nextCursor) }, left([4, 5, 6]))
  expect(rest).toMatchObject({ page: 2, nextCursor: false, rows: [{ id: 6 }] })

  const end = await paged({ limit: 3, next: at(first.nextCursor) }, left([0, 1, 2]))
  expect(end).toMatchObject({ page: 2, nextCursor: false, rows: [] })
  const back = await paged({ limit: 3, previous: at(end.previousCursor) }, left([0, 1, 2]))
  expect(back).toMatchObject({ page: 1, previousCursor: false, rows: [{ id: 0 }, { id: 1 }] })
  expect((await paged({ limit: 3, next: at(back.nextCursor) }, left([0, 1, 2]))).rows).toMatchObject([{ id: 2 }])
})

test('a cursor of another list', async () => {
  for (const boundary of [['a'], [1, 'a'], ['a', 1, 2], []]) {
    const wrong = paged({ limit: 2, next: { boundary, page: 2 } }, list)
    await expect(wrong).rejects.toMatchObject({ code: 'InputValidationError', details: { next: expect.any(String) } })
  }
})
