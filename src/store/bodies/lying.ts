// Where large parts lie: in files beside a database file, in rows of one behind an address. Here one becomes the other.

import { readFileSync, writeFileSync } from 'node:fs'
import { syncPath } from '#lib/lasting.ts'
import { limits } from '#lib/limits.ts'
import type { Stored } from '../engine/column.ts'
import { type BodyFiles, fileName } from './files.ts'
import { ChunkTable, codecChunks } from './format/codec.ts'
import { parts } from './writes.ts'

const { at } = parts

/** A row of a part with all of its bytes. */
export function inRow(row: Stored[], files: BodyFiles): Stored[] {
  if (row[at.file] !== 1) return row
  const [hash, table] = [row[at.hash], row[at.data]] as [Uint8Array, Uint8Array]
  const data = Buffer.concat([table, readFileSync(files.pathOf(fileName(hash, table)))])
  return placed(row, 0, data.length, data)
}

/** The same with the pieces of a large one in a file, which is on disk. */
export function inFile(row: Stored[], files: BodyFiles): Stored[] {
  const data = row[at.data] as Buffer | null
  if (row[at.file] === 1 || row[at.codec] !== codecChunks || data === null || data.length <= limits.body.spillBytes)
    return row
  const { bytes } = new ChunkTable(data, row[at.size] as number)
  const [table, pieces] = [data.subarray(0, bytes), data.subarray(bytes)]
  const scratch = files.scratch()
  writeFileSync(scratch, pieces)
  syncPath(scratch)
  files.publish(scratch, fileName(row[at.hash] as Uint8Array, table))
  files.removeScratch(scratch)
  files.sync()
  return placed(row, 1, pieces.length, table)
}

function placed(row: readonly Stored[], file: number, stored: number, data: Buffer): Stored[] {
  const made = [...row]
  made[at.file] = file
  made[at.stored] = stored
  made[at.data] = data
  return made
}
