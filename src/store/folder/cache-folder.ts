// Whether the cache's folder may be opened at all: LMDB maps its file into memory, and a file that was cut short or
// written over would end the whole process instead of failing.
//
// So the file is looked at before LMDB is: after an orderly end its checksum must be the one that was left beside it,
// after a crash its head must be LMDB's and its length at least what that head says. While it is being opened a mark
// stands in the folder: where an opening did not come to its end, the next start puts the folder aside.

import { closeSync, existsSync, openSync, readSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { limits } from '#lib/limits.ts'

const dataFile = 'data.mdb'
const markFile = 'opening'
const sumFile = 'closed'

/** Moves the folder aside, over the one that was moved aside before. */
export function setAside(dir: string): void {
  const aside = `${dir}.broken`
  rmSync(aside, { recursive: true, force: true })
  if (existsSync(dir)) renameSync(dir, aside)
}

/** Runs `task`, which opens the checked file, with the mark in the folder. @throws Error where it must not be opened */
export function guarded<Value>(dir: string, task: () => Value): Value {
  const mark = join(dir, markFile)
  const sum = join(dir, sumFile)
  if (existsSync(mark)) throw new Error('an earlier opening did not come to its end')
  check(join(dir, dataFile), sum)
  rmSync(sum, { force: true })
  writeFileSync(mark, '')
  const value = task()
  rmSync(mark, { force: true })
  return value
}

/** After an orderly end: leaves the checksum that the next start compares. */
export function sealFolder(dir: string): void {
  const sum = join(dir, sumFile)
  writeFileSync(`${sum}.new`, checksum(join(dir, dataFile)))
  renameSync(`${sum}.new`, sum)
}

function check(file: string, sum: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (existsSync(sum)) {
    const expected = Buffer.alloc(64)
    const length = withFile(sum, handle => readSync(handle, expected, 0, expected.length, 0))
    if (size === 0 || expected.toString('latin1', 0, length) !== checksum(file)) {
      throw new Error('the file is not as it was left')
    }
  } else if (size > 0) withFile(file, handle => checkHead(handle, size))
}

function checksum(file: string): string {
  const chunk = Buffer.allocUnsafe(limits.body.chunkBytes)
  return withFile(file, handle => {
    let sum = 0
    let size = 0
    for (let read = readSync(handle, chunk); read > 0; read = readSync(handle, chunk)) {
      sum = crc32(chunk.subarray(0, read), sum)
      size += read
    }
    return `${size} ${sum}`
  })
}

/**
 * Two meta pages, each with a header of 24 bytes, the magic number, the version, address and size of the map, two
 * tables of 48 bytes of which the first begins with the page size, and the number of the last page.
 */
function checkHead(handle: number, size: number): void {
  const magic = 0xbeefc0de
  const at = { magic: 24, pageSize: 48, lastPage: 144 }
  const head = Buffer.alloc(at.lastPage + 8)
  const readHead = (position: number) => {
    const whole = readSync(handle, head, 0, head.length, position) === head.length
    if (!whole || head.readUInt32LE(at.magic) !== magic) throw new Error('the file is none of LMDB')
    return { pageSize: head.readUInt32LE(at.pageSize), lastPage: head.readBigUInt64LE(at.lastPage) }
  }
  const first = readHead(0)
  const second = readHead(first.pageSize)
  const lastPage = first.lastPage > second.lastPage ? first.lastPage : second.lastPage
  if ((lastPage + 1n) * BigInt(first.pageSize) > BigInt(size)) throw new Error('the file was cut short')
}

function withFile<Value>(file: string, task: (handle: number) => Value): Value {
  const handle = openSync(file, 'r')
  try {
    return task(handle)
  } finally {
    closeSync(handle)
  }
}
