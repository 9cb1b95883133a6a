// Every write on both engines with the same rows: what is answered, conflicts and refusals too, and what stands in the tables.

import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Stored } from '#store/engine/column.ts'
import type { WrittenUnit } from '#store/engine/postgres/writer/writing.ts'
import { definedProcedures } from '#store/engine/procedure.ts'
import { definedTables, sharedTables } from '#store/engine/table.ts'
import { definedWrites } from '#store/engine/write.ts'
import { Both, loadStore } from './both.ts'
import { makeDatabase } from './cluster.ts'
import { plainWrites, rowFor, unit } from './rows.ts'
import { scenario } from './scenario.ts'

await loadStore()

let both: Both
const used = new Set<string>()

beforeAll(async () => {
  both = await Both.open(await makeDatabase(inject('postgres'), 'template0'))
})

afterAll(() => both.close())

async function same(...units: WrittenUnit[]): Promise<void> {
  const { sqlite, postgres } = await written(units)
  expect(postgres).toEqual(sqlite)
}

/** The same where a row may break several rules at once: which of them is told is the engine's own. */
async function alike(...units: WrittenUnit[]) {
  const { sqlite, postgres } = await written(units)
  const tables = ({ failures, ...rest }: typeof sqlite) => {
    return { ...rest, failures: failures.map(({ text, ...more }) => ({ ...more, text: text.split('.')[0] })) }
  }
  expect(tables(postgres)).toEqual(tables(sqlite))
  return sqlite
}

function written(units: readonly WrittenUnit[]) {
  for (const { operations } of units) for (const [name] of operations) used.add(name)
  return both.write(() => structuredClone([...units]))
}

describe('on both engines', () => {
  test('the writes of one table do the same', async () => {
    for (const name of definedTables().keys()) {
      for (const write of plainWrites(name)) {
        for (const number of [10, 20, 10, 30]) {
          const row = rowFor(name, number, number === 20)
          let form: unknown
          try {
            form = write.encode?.(row)
          } catch {
            // It takes more than a row of its table.
            continue
          }
          if (!Array.isArray(form) || form.some(value => Array.isArray(value) || value === undefined)) continue
          await alike(unit([[write.name, form as Stored[]]]))
        }
      }
    }
    expect(await both.differences()).toEqual({})
  })

  test('writes that are made of several statements do the same', async () => {
    for (const units of scenario) await same(...units)
    expect(await both.differences()).toEqual({})
  })

  test('names of any length are indexed', async () => {
    // What is packed well would fit.
    const long = (bytes: number) => randomBytes(bytes).toString('base64')
    const [path, url, target, uid] = [long(40_000), `https://x/${long(4000)}`, long(4000), long(2300)]
    const folder = { ...rowFor('mailbox', 90), num: 90, id: 'long', user: 90, path }
    const contact = (id: string) => ({ ...rowFor('contact', 90), id, user: 90, uid })
    const note = { owner: 'u90', target, last: 5, status: 's', response: 'r', told: true, warned: false }
    const steps: [string, unknown][] = [
      ['mailbox.insert', folder],
      ['mailbox.insert', { ...folder, num: 91, id: 'other' }],
      ['contact.insert', contact('one')],
      ['contact.insert', contact('other')],
      ...['v', 'w'].map((id, at): [string, unknown] => {
        return ['webhook.insert', { ...rowFor('webhook', 90), id: `long${id}`, endpoint: 90 + at, url }]
      }),
      ...[note, note].map((row): [string, unknown] => ['forward_trouble.note', row]),
      ['meta.put', ['far', 2 ** 52]],
      ['report.add', { rowsMax: 9, rows: [{ kind: 'tls', day: 9, domain: 'd', detail: long(12_000), count: 1 }] }],
    ]
    for (const [name, row] of steps) {
      const { encode } = definedWrites().get(name) ?? {}
      await same(unit([[name, encode === undefined ? row : encode(row)]]))
    }
    expect(await both.differences()).toEqual({})
  })

  test('what broke a rule is undone alone, and what relied on it is refused', async () => {
    const meta = (key: string): [string, unknown] => ['meta.put', [key, 1]]
    const broken: [string, unknown] = ['body.retain', { num: 987_654 }]
    await same(
      unit([meta('a')], 5, 1),
      unit([meta('b'), broken], 5, 1),
      unit([meta('c')], 5, 1),
      unit([meta('d')], 6, 1),
      unit([meta('e')], 5, 2),
      unit([meta('f'), broken]),
      unit([meta('g')]),
    )
    await same(unit([meta('h')], 5, 1), unit([meta('i')], 5, 2))
    expect(await both.differences()).toEqual({})
  })

  test('units by chance, some of which break rules, do the same', async () => {
    const chance = random(20_261_126)
    const epochs = new Map<number, number>()
    for (let round = 0; round < 60; round++) {
      const units = Array.from({ length: 1 + chance(12) }, () => {
        const partition = chance(4)
        const epoch = epochs.get(partition) ?? 0
        return unit(
          Array.from({ length: 1 + chance(4) }, () => step(chance)),
          partition,
          epoch,
        )
      })
      const sqlite = await alike(...units)
      for (const { unit: failed } of sqlite.failures) {
        const { partition = 0, epoch = 0 } = units[failed] ?? {}
        epochs.set(partition, epoch + chance(2))
      }
    }
    expect(await both.differences()).toEqual({})
  })

  test('all of them were tried', () => {
    // A file has no tables of nodes; theirs are tried with nodes (test/cluster).
    const onBoth = [...definedWrites().keys()].filter(name => !sharedTables().has(name.slice(0, name.indexOf('.'))))
    expect(onBoth.filter(name => !used.has(name))).toEqual([])
    expect(definedProcedures().length).toBeGreaterThan(30)
  })
})

/** One of some writes on few rows, so that they meet. */
function step(chance: (below: number) => number): [string, unknown] {
  const num = 700_000 + chance(6)
  const part = {
    hash: Buffer.alloc(32, 200 + chance(3)),
    size: 5,
    codec: 0,
    data: Buffer.from('bytes'),
    file: null,
    stored: 0,
  }
  const steps: [string, unknown][] = [
    [
      'body.add',
      {
        num,
        size: 9,
        added: chance(3),
        recipe: null,
        skeleton: Buffer.from('s'),
        parts: [part, part].slice(chance(3)),
      },
    ],
    ['body.add', { num, size: 9, added: 0, recipe: null, skeleton: Buffer.from('s'), parts: [part] }],
    ['body.retain', { num }],
    ['body.release', { num }],
    ['event.insert', [num + chance(40), 'n', null, '{}', 1]],
    ['meta.put', [`m${num}`, chance(9)]],
    ['meta.delete', [`m${num}`]],
    ['tally.add', [1, 2, chance(3), chance(3), chance(3), num]],
    ['domainalias.insert', [`id${chance(30)}`, `alias${num}`, 'd', 5]],
    ['domainalias.delete', [`id${chance(30)}`]],
    ['archive.take', { num: chance(9) }],
    ['contact.delete', { user: 1, ids: ['x'] }],
  ]
  return steps[chance(steps.length)] as [string, unknown]
}

/** The same numbers for the same seed. */
function random(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % below
  }
}
