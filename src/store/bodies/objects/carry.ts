// Carries large parts that lie in rows of a database behind an address into objects, or back, also while services read them.
//
// One part after the other changes its row, and only when its bytes were found to be what they should be where it goes. So it can be
// broken off and begun again; an object without a row is left to strays.ts. What is damaged stays as it was, and is named.

import { createHash } from 'node:crypto'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Stored } from '../../engine/column.ts'
import type { Reader } from '../../engine/reader.ts'
import { BodyFiles } from '../files.ts'
import { ChunkTable, codecChunks, unpackPiece } from '../format/codec.ts'
import { inObject, inRow } from '../lying.ts'
import { parts } from '../writes.ts'
import { objectName } from './parts.ts'
import type { ObjectStore } from './store.ts'

const { at } = parts

type Row = readonly Stored[]

/** Which parts may go there, by their numbers, and what becomes of a row. */
const ways = {
  objects: {
    waiting: `file = 0 AND codec = ${codecChunks} AND stored > ${limits.body.inlineBytesMax}`,
    carry: (row: Row, { objects }: Carrying) => intoObject(row, objects),
  },
  rows: { waiting: 'file = 1', carry: (row: Row, { objects }: Carrying) => intoRow(row, objects) },
} as const

/** One that went meanwhile is left alone. */
const changing = `${parts.updating({ set: ['file', 'stored', 'data'], by: ['num', 'hash', 'file'] })} RETURNING num`

interface Carrying {
  readonly read: Reader
  readonly objects: ObjectStore
  /** A write beside those of services, and how many rows it changed. */
  readonly change: (text: string, values: readonly Stored[]) => Promise<number>
  /** Hears how many were carried, and their bytes, after each one. */
  readonly told: (carried: Carried) => void
}

interface Carried {
  readonly parts: number
  readonly bytes: number
  /** What is wrong with those that stayed where they were, as sentences. */
  readonly damaged: readonly string[]
}

/** Where large parts may go to. */
export type Destination = keyof typeof ways

/** All that are there when it comes to them. @throws Fault StorageUnavailable, Overloaded: what was carried by then is */
export async function carryParts(to: Destination, carrying: Carrying): Promise<Carried> {
  const { read, told } = carrying
  const { waiting, carry } = ways[to]
  const damaged: string[] = []
  let [count, bytes] = [0, 0]
  const one = async (num: number) => {
    const [row] = await read.arrays<Stored[]>(`SELECT ${parts.list} FROM part WHERE num = ? AND ${waiting}`, num)
    if (row === undefined) return
    try {
      const made = await carry(row, carrying)
      const places = [at.file, at.stored, at.data]
      const values = [...places.map(place => made[place]), row[at.num], row[at.hash], row[at.file]]
      if ((await carrying.change(changing, values as Stored[])) === 0) return
      count += 1
      bytes += Number(row[at.stored])
      told({ parts: count, bytes, damaged })
    } catch (error) {
      if (error instanceof Fault && error.code !== 'StoreDamaged') throw error
      damaged.push(`part ${num}: ${(error as Error).message}`)
    }
  }
  // Numbers rise, so what services bring meanwhile is behind all that was there; a page has an end where few of it are large.
  for (let from = 0; ; from += limits.objects.lookedAtMax) {
    const last = await read.one<{ num: number | null }>('SELECT max(num) AS num FROM part')
    if (from >= (last?.num ?? 0)) return { parts: count, bytes, damaged }
    const some = await read.all<{ num: number }>(
      `SELECT num FROM part WHERE ${waiting} AND num > ? AND num <= ? ORDER BY num`,
      from,
      from + limits.objects.lookedAtMax,
    )
    await each(
      some.map(({ num }) => num),
      one,
    )
  }
}

/** Some at a time; the first failure ends it when those under way are done. */
async function each(nums: number[], task: (num: number) => Promise<void>): Promise<void> {
  const work = async () => {
    try {
      for (let num = nums.shift(); num !== undefined; num = nums.shift()) await task(num)
    } finally {
      nums.length = 0
    }
  }
  const all = await Promise.allSettled(Array.from({ length: limits.objects.putsMax }, work))
  for (const done of all) if (done.status === 'rejected') throw done.reason
}

/** @throws Fault StoreDamaged where bytes are not what they were */
async function intoObject(row: Row, objects: ObjectStore): Promise<Row> {
  requireSound(row)
  const made = await inObject([...row], new BodyFiles('', objects))
  const pieces = (row[at.data] as Buffer).subarray(-Number(made[at.stored]))
  const name = objectName(row[at.hash] as Uint8Array, made[at.data] as Uint8Array)
  for (let start = 0; start < pieces.length; start += limits.objects.readBytes) {
    const wanted = pieces.subarray(start, start + limits.objects.readBytes)
    const found = await objects.read(name, start, wanted.length)
    if (found?.equals(wanted) !== true) {
      throw new Fault('StorageUnavailable', {
        cause: new Error('the store of bodies.url does not give what was put there'),
      })
    }
  }
  return made
}

async function intoRow(row: Row, objects: ObjectStore): Promise<Row> {
  const made = await inRow([...row], new BodyFiles('', objects))
  requireSound(made)
  return made
}

/** That a row with all of its bytes holds the value that it says. */
function requireSound(row: Row): void {
  const [data, size] = [row[at.data] as Buffer, Number(row[at.size])]
  const table = new ChunkTable(data, size)
  const value = createHash('sha256')
  for (let start = 0; start < size; start += table.chunkBytes) {
    const { piece } = table.pieceOf(start)
    value.update(
      unpackPiece(piece, data.subarray(table.bytes + piece.offset, table.bytes + piece.offset + piece.length)),
    )
  }
  if (!value.digest().equals(row[at.hash] as Buffer))
    throw new Fault('StoreDamaged', { text: 'its bytes have another hash' })
}
