// What the executable runs first: puts the program's files where they can be loaded, then runs them.
//
// The folder is named by the build and private to its owner. Every file in it was checked by its hash when it was put
// there, and is checked again when anything about it changed since (the mark `whole` says when each last did), so neither a
// torn file nor somebody else's is ever run. Folders tried in order: XDG_CACHE_HOME, ~/.cache, beside the executable, the
// temporary folder; the first that can be written to and run from.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import sea from 'node:sea'
import zlib from 'node:zlib'
import { compile } from './load.ts'

// Put in by the build (deploy/executable.ts): file -> hash, and the name of the folder.
declare const TEAL_PARTS: Readonly<Record<string, string>>
declare const TEAL_BUILD: string

const hashes = TEAL_PARTS
const build = TEAL_BUILD

process.argv[1] ??= 'teal'
compile(find()).run()

function find(): string {
  const home = process.env.HOME
  const roots = [
    process.env.XDG_CACHE_HOME,
    home && path.join(home, '.cache'),
    path.dirname(process.execPath),
    os.tmpdir(),
  ]
  const reasons: string[] = []
  for (const root of roots) {
    if (!root || !path.isAbsolute(root)) continue
    try {
      return fill(path.join(root, `teal-${build}`))
    } catch (error) {
      reasons.push(`${root}: ${error instanceof Error ? error.message : error}`)
    }
  }
  const text =
    'found no folder for its files: name one in XDG_CACHE_HOME that this user may write to and run programs from'
  process.stderr.write(`teal: ${text} (${reasons.join('; ') || 'none to try'})\n`)
  process.exit(1)
}

function fill(own: string): string {
  fs.mkdirSync(own, { recursive: true, mode: 0o700 })
  const stat = fs.lstatSync(own)
  if (!stat.isDirectory() || stat.uid !== process.getuid?.() || (stat.mode & 0o077) !== 0) {
    throw new Error('the folder is not private')
  }
  const mark = path.join(own, 'whole')
  const stamp = stampOf(own)
  if (stamp === '' || read(mark)?.toString() !== stamp) {
    for (const [name, hash] of Object.entries(hashes)) {
      if (hashOf(path.join(own, name)) !== hash) write(path.join(own, name), part(name))
    }
    try {
      write(mark, stampOf(own))
    } catch {
      // A folder that may only be read is looked through at every start.
    }
  }
  // A folder mounted noexec lets files be written and not be loaded.
  for (const name of Object.keys(hashes))
    if (name.endsWith('.node')) fs.accessSync(path.join(own, name), fs.constants.X_OK)
  return own
}

/** What changes when any of the files does, even back to its old times; nothing while one is missing. */
function stampOf(own: string): string {
  try {
    return Object.keys(hashes)
      .map(name => {
        const { ino, size, ctimeNs, uid } = fs.lstatSync(path.join(own, name), { bigint: true })
        return `${name} ${ino} ${size} ${ctimeNs} ${uid}\n`
      })
      .join('')
  } catch {
    return ''
  }
}

function part(name: string): Buffer {
  return zlib.zstdDecompressSync(Buffer.from(sea.getRawAsset(name)))
}

/** Whole and on disk, or not at all: another start may read it, and the power may fail. */
function write(file: string, bytes: Buffer | string): void {
  const fresh = `${file}.${process.pid}`
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  fs.writeFileSync(fresh, bytes, { mode: 0o700, flush: true })
  fs.renameSync(fresh, file)
}

function read(file: string): Buffer | undefined {
  try {
    return fs.readFileSync(file)
  } catch {
    return undefined
  }
}

function hashOf(file: string): string | undefined {
  const bytes = read(file)
  return bytes && createHash('sha256').update(bytes).digest('hex')
}
