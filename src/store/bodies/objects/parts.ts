// Large parts of bodies in an S3-compatible store, where the database is behind an address: their names, how they get there and
// how they are read.
//
// A part's row has `file` 1 and behind the chunk table in `data` the rest of its name, which is given once: a value that comes again
// after its row went is another object. It is in the store before the unit that names it is made, so a crash leaves an object that
// nobody names and never a row without its object; strays.ts looks for the former.

import { createReadStream } from 'node:fs'
import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { Reader } from '../../engine/reader.ts'
import { hasObjects, type ObjectsPlace, type Place } from '../../folder/place.ts'
import { DamagedBody } from '../format/codec.ts'
import type { PartRow } from '../writes.ts'
import { ObjectStore } from './store.ts'

/** Bytes of an id at the end of `data`. */
const idBytes = 12

const namePattern = /^[0-9a-f]{2}\/[0-9a-f]{62}-[0-9a-f]{24}$/

/** Names whose rows are asked for together. */
const askedAtOnce = 250

const namingText = `SELECT hash, data FROM part WHERE hash IN (${Array.from({ length: askedAtOnce }, () => '?').join(', ')}) AND file = 1`

/** The store that a configuration names, with connections of its own; they are made when they are wanted. */
export function openObjects(place: Pick<Place, 'bodies'>): ObjectStore | undefined {
  return hasObjects(place) ? new ObjectStore(place.bodies as ObjectsPlace) : undefined
}

/** The name of a part's object. */
export function objectName(partHash: Uint8Array, data: Uint8Array): string {
  const hash = Buffer.from(partHash).toString('hex')
  return `${hash.slice(0, 2)}/${hash.slice(2)}-${Buffer.from(data.subarray(-idBytes)).toString('hex')}`
}

/** What the row of a new object holds. */
export function named(table: Uint8Array): Buffer {
  return Buffer.concat([table, Buffer.from(newId(), 'hex')])
}

/** Names among these of old objects that no row has. */
export async function unnamed(read: Reader, names: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (let at = 0; at < names.length; at += askedAtOnce) {
    const some = names.slice(at, at + askedAtOnce)
    const hashes = some.map(name => Buffer.from(name.slice(0, 2) + name.slice(3, 65), 'hex'))
    // One text for all: the places that are left over ask for the last once more.
    const filled = Array.from({ length: askedAtOnce }, (_, place) => hashes[place] ?? hashes.at(-1))
    const rows = await read.all<{ hash: Buffer; data: Buffer }>(namingText, ...(filled as Buffer[]))
    const known = new Set(rows.map(({ hash, data }) => objectName(hash, data)))
    found.push(...some.filter(name => !known.has(name)))
  }
  return found
}

/** Old objects that have a name of this form, some hundred at a time. @param before when they came, by the store's clock */
export async function* oldNames(objects: ObjectStore, before: number): AsyncGenerator<string[]> {
  for await (const found of objects.all()) {
    yield found.filter(({ name, at }) => at < before && namePattern.test(name)).map(({ name }) => name)
  }
}

/**
 * Puts what of a message lies in scratch into the store. What is there already under its hash is not put there again.
 *
 * @returns its parts as they are named from now on
 * @throws Fault StorageUnavailable, Overloaded
 */
export async function putParts(objects: ObjectStore, read: Reader, parts: readonly PartRow[]): Promise<PartRow[]> {
  const placed = [...parts]
  const waiting = [...parts.keys()].filter(at => parts[at]?.file !== null)
  const put = async () => {
    for (let at = waiting.shift(); at !== undefined; at = waiting.shift()) {
      placed[at] = await putPart(objects, read, parts[at] as PartRow)
    }
  }
  const all = await Promise.allSettled(Array.from({ length: limits.objects.putsMax }, put))
  for (const one of all) if (one.status === 'rejected') throw one.reason
  return placed
}

async function putPart(objects: ObjectStore, read: Reader, part: PartRow): Promise<PartRow> {
  const { packed = '', ...rest } = part
  const { hash, data: table, file, stored } = rest
  const known = await read.one('SELECT 1 FROM part WHERE hash = ?', hash)
  if (known !== undefined || file === null) return { ...rest, file: null, object: 'known' }
  const data = named(table)
  const open = () => createReadStream(file, { highWaterMark: limits.body.chunkBytes })
  await objects.put(objectName(hash, data), { size: stored, hash: packed, open })
  return { ...rest, data, file: null, object: 'new' }
}

/** The pieces of a part, as they are read: a little at first, more at once for who reads on. */
export class ObjectPieces {
  readonly #objects: ObjectStore
  readonly #name: string
  readonly #stored: number
  #start = 0
  #window: Buffer = Buffer.alloc(0)

  /** @param stored bytes of all pieces */
  constructor(objects: ObjectStore, name: string, stored: number) {
    this.#objects = objects
    this.#name = name
    this.#stored = stored
  }

  /** @throws Fault MessageNotFound where it is not there, StorageUnavailable */
  async size(): Promise<number> {
    const size = await this.#objects.sizeOf(this.#name)
    if (size === undefined) throw this.#missing()
    return size
  }

  /** @throws Fault as `size` */
  async read(offset: number, length: number): Promise<Buffer> {
    const end = this.#start + this.#window.length
    if (offset >= this.#start && offset + length <= end) {
      return this.#window.subarray(offset - this.#start, offset - this.#start + length)
    }
    if (offset + length > this.#stored) throw new DamagedBody('an object of a part is cut short')
    // Behind what was read last: whoever reads on gets more at once.
    const further = this.#window.length > 0 && offset >= this.#start && offset <= end
    const wanted = further ? Math.max(length, limits.objects.readBytes) : length
    const bytes = await this.#objects.read(this.#name, offset, Math.min(wanted, this.#stored - offset))
    if (bytes === undefined) throw this.#missing()
    this.#start = offset
    this.#window = bytes
    return bytes.subarray(0, length)
  }

  async close(): Promise<void> {}

  #missing(): Fault {
    return new Fault('MessageNotFound', { cause: new Error(`the object ${this.#name} is not there`) })
  }
}
