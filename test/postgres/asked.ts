// What a reader is asked while a service runs, and the same questions put to another one.

import type { Reader } from '#store/engine/reader.ts'

export interface Asked {
  readonly arrays: boolean
  readonly text: string
  readonly values: readonly unknown[]
}

/** Notes what a reader is asked from now on, a few values for each text. */
export function noting(read: Reader): { readonly asked: Asked[] } {
  const asked: Asked[] = []
  const counts = new Map<string, number>()
  const note = (arrays: boolean, text: string, values: readonly unknown[]) => {
    const count = (counts.get(text) ?? 0) + 1
    counts.set(text, count)
    if (count <= valuesMost) asked.push({ arrays, text, values })
  }
  watch(read, note)
  return { asked }
}

/** Values of one text that are worth asking with. */
const valuesMost = 12

type Note = (arrays: boolean, text: string, values: readonly unknown[]) => void

function watch(read: Reader, note: Note): void {
  const { one, all, arrays, each, eachArray, snapshot } = bindAll(read)
  Object.assign(read, {
    one: (text: string, ...values: unknown[]) => {
      note(false, text, values)
      return one(text, ...values)
    },
    all: (text: string, ...values: unknown[]) => {
      note(false, text, values)
      return all(text, ...values)
    },
    arrays: (text: string, ...values: unknown[]) => {
      note(true, text, values)
      return arrays(text, ...values)
    },
    each: (visit: (row: unknown) => unknown, text: string, ...values: unknown[]) => {
      note(false, text, values)
      return each(visit, text, ...values)
    },
    eachArray: (visit: (row: unknown[]) => unknown, text: string, ...values: unknown[]) => {
      note(true, text, values)
      return eachArray(visit, text, ...values)
    },
    snapshot: (task: (picture: Reader) => Promise<unknown>) =>
      snapshot(async picture => {
        if (!Object.hasOwn(picture, 'one')) watch(picture, note)
        return await task(picture)
      }),
  })
}

function bindAll(read: Reader): Reader {
  const names = ['one', 'all', 'arrays', 'each', 'eachArray', 'snapshot'] as const
  return Object.fromEntries(names.map(name => [name, (read[name] as () => unknown).bind(read)])) as unknown as Reader
}

/** All rows that a reader has for a question, in an order of ours where the text leaves it open. */
export async function rowsFor(read: Reader, { arrays, text, values }: Asked): Promise<unknown[]> {
  const rows = arrays ? await read.arrays(text, ...values) : await read.all<Record<string, unknown>>(text, ...values)
  // A column that has no name is called as each engine likes; drivers make objects in their own ways.
  const said = rows.map(row => (Array.isArray(row) ? row : /^SELECT 1\b/.test(text) ? 1 : { ...row }))
  if (/\bORDER BY\b/.test(text)) return said
  const keys = new Map(said.map(row => [row, JSON.stringify(row)]))
  return said.sort((a, b) => ((keys.get(a) ?? '') < (keys.get(b) ?? '') ? -1 : 1))
}
