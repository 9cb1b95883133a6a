// What becomes of the large parts of a message that has arrived, before its unit is made: they stay in scratch, whose files get their
// names when the unit is written; they go to the store beside the database; or they travel in the unit.
//
// The last where the unit may be written by another node, on whose disk nothing of this one is.

import { readFile } from 'node:fs/promises'
import type { Reader } from '../engine/reader.ts'
import type { Place } from '../folder/place.ts'
import type { BodyFiles } from './files.ts'
import { putParts } from './objects/parts.ts'
import type { PartRow } from './writes.ts'

export type KeptPlace = Place & { readonly cluster?: { readonly node: string } }

/** @throws Fault StorageUnavailable, Overloaded */
export type Keep = (parts: readonly PartRow[]) => readonly PartRow[] | Promise<readonly PartRow[]>

export function keepOf({ cluster }: KeptPlace, { objects }: BodyFiles, read: Reader): Keep {
  if (objects !== undefined) return parts => putParts(objects, read, parts)
  return cluster?.node ? takenAlong : parts => parts
}

async function takenAlong(parts: readonly PartRow[]): Promise<PartRow[]> {
  const taken: PartRow[] = []
  for (const part of parts) {
    const { file, data } = part
    if (file === null) taken.push(part)
    else taken.push({ ...part, data: Buffer.concat([data, await readFile(file)]), file: null, stored: 0 })
  }
  return taken
}
