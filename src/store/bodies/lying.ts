// Where large parts lie: in files beside a database file; in rows of one behind an address, or in objects beside it.
//
// Here one becomes another, for `teal move` and `teal bodies`. What was made is on disk, or in the store, when the row is given, which
// is for who asked to put where it belongs.

import { hash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { Fault } from '#lib/fault.ts'
import { syncPath } from '#lib/lasting.ts'
import { limits } from '#lib/limits.ts'
import type { Stored } from '../engine/column.ts'
import { type BodyFiles, fileName } from './files.ts'
import { ChunkTable, codecChunks } from './format/codec.ts'
import { named, objectName } from './objects/parts.ts'
import type { ObjectStore } from './objects/store.ts'
import { parts } from './writes.ts'

const { at } = parts

/** What becomes of a part's row. */
export type Laying = (row: Stored[], files: BodyFiles) => Stored[] | Promise<Stored[]>

/** A row of a part with all of its bytes. */
export function inRow(row: Stored[], files: BodyFiles): Stored[] | Promise<Stored[]> {
  if (row[at.file] !== 1) return row
  const [hash, table] = [row[at.hash], row[at.data]] as [Uint8Array, Uint8Array]
  const { objects } = files
  if (objects !== undefined) return fromObject(row, objects)
  const data = Buffer.concat([table, readFileSync(files.pathOf(fileName(hash, table)))])
  return placed(row, 0, data.length, data)
}

async function fromObject(row: Stored[], objects: ObjectStore): Promise<Stored[]> {
  const [hash, named, size, stored] = [at.hash, at.data, at.size, at.stored].map(place => row[place])
  const name = objectName(hash as Uint8Array, named as Uint8Array)
  const pieces = await objects.read(name, 0, stored as number).catch(async error => {
    const size = await objects.sizeOf(name)
    if (size === undefined || size === stored) throw error
    throw new Fault('StoreDamaged', {
      text: `The object ${name} has ${size} bytes where ${stored} were stored`,
      cause: error,
    })
  })
  if (pieces === undefined) throw new Fault('StoreDamaged', { text: `The object ${name} is not there` })
  const { bytes } = new ChunkTable(named as Buffer, size as number)
  const data = Buffer.concat([(named as Buffer).subarray(0, bytes), pieces])
  return placed(row, 0, data.length, data)
}

/** The same with the pieces of a large one in an object, which is in the store. */
export async function inObject(row: Stored[], files: BodyFiles): Promise<Stored[]> {
  const cut = piecesOf(row, limits.body.inlineBytesMax)
  const { objects } = files
  if (cut === undefined || objects === undefined) return row
  const { table, pieces } = cut
  const data = named(table)
  const digest = hash('sha256', pieces, 'hex')
  await objects.put(objectName(row[at.hash] as Uint8Array, data), {
    size: pieces.length,
    hash: digest,
    open: () => pieces,
  })
  return placed(row, 1, pieces.length, data)
}

/** The same with the pieces of a large one in a file, which is on disk. */
export function inFile(row: Stored[], files: BodyFiles): Stored[] {
  const cut = piecesOf(row, limits.body.spillBytes)
  if (cut === undefined) return row
  const { table, pieces } = cut
  const scratch = files.scratch()
  writeFileSync(scratch, pieces)
  syncPath(scratch)
  files.publish(scratch, fileName(row[at.hash] as Uint8Array, table))
  files.removeScratch(scratch)
  files.sync()
  return placed(row, 1, pieces.length, table)
}

/** Table and pieces of a row that has both and more than so many bytes. */
function piecesOf(
  row: readonly Stored[],
  least: number,
): { readonly table: Buffer; readonly pieces: Buffer } | undefined {
  const data = row[at.data] as Buffer | null
  if (row[at.file] === 1 || row[at.codec] !== codecChunks || data === null) return undefined
  const { bytes } = new ChunkTable(data, row[at.size] as number)
  if (data.length <= least) return undefined
  return { table: data.subarray(0, bytes), pieces: data.subarray(bytes) }
}

function placed(row: readonly Stored[], file: number, stored: number, data: Buffer): Stored[] {
  const made = [...row]
  made[at.file] = file
  made[at.stored] = stored
  made[at.data] = data
  return made
}
