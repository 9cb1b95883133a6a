// A disk that loses its power: from a journal of operations, what may be found on it after a cut.
//
// What a file or a folder is certain to hold is what was done to it before its last sync began, nothing else: a name lasts
// by a sync of its folder, not of the file. Of the rest each sector of a file holds any of its states since then, its
// length too, and of the names of a folder any that came one after the other. A file system may promise more; nothing
// here relies on it.

import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Entry } from './journal.ts'

const sectorBytes = 512

interface Node {
  readonly ino: number
  /** Undefined for files. */
  readonly names: Map<string, Node> | undefined
  readonly ops: (Data | Name)[]
  /** What was done before this place in the journal lasts. */
  lasting: number
}

interface Data {
  readonly seq: number
  readonly offset: number
  /** Null: the file was cut to `offset`. */
  readonly bytes: Buffer | null
  readonly lasts: boolean
}

interface Name {
  readonly seq: number
  /** Set or, with null, removed. */
  readonly name: string
  readonly node: Node | null
  /** Removed in the same step. */
  readonly from?: string
  /** Comes about only together with that one, in another folder. */
  readonly after?: Name
}

/** How much of what is not certain has come to the disk. */
export type Loss = 'all' | 'none' | 'some' | 'order'

/** The tree of one moment. */
export interface Tree {
  readonly folders: readonly string[]
  readonly files: ReadonlyMap<string, Buffer>
}

/** A disk up to a moment of its journal. */
export class Disk {
  readonly #root: Node = { ino: 0, names: new Map(), ops: [], lasting: 0 }
  /** By their numbers now, and all there ever were. */
  readonly #nodes = new Map<number, Node>()
  readonly #made: Node[] = [this.#root]
  /** Files that were mapped for writing: what is in them is not known. */
  readonly mapped = new Set<string>()

  /** @param until operations that ended later have not come about */
  constructor(entries: readonly Entry[], until = Number.POSITIVE_INFINITY) {
    for (const entry of entries) {
      if (entry.end > until) break
      this.#apply(entry)
    }
  }

  /** What is there as a running process sees it. */
  live(): Tree {
    return this.#tree(
      node => node.names ?? new Map(),
      node => content(node, 0, () => 0),
    )
  }

  /** What may be there after the cut. @param random between 0 and 1 */
  after(loss: Loss, random: () => number): Tree {
    const namesOf = survivors(this.#made, loss, random)
    return this.#tree(
      node => namesOf.get(node) ?? new Map(),
      node => {
        const share = { all: 1, none: 0, some: random(), order: random() }[loss]
        return content(node, 1 - share, loss === 'all' || loss === 'none' ? () => 0.5 : random)
      },
    )
  }

  #apply({ kind, ino, at, path, other, data, start, end }: Entry): void {
    if (kind === 'w' || kind === 'W')
      this.#node(ino).ops.push({ seq: start, offset: at, bytes: data, lasts: kind === 'W' })
    else if (kind === 't') this.#node(ino).ops.push({ seq: start, offset: at, bytes: null, lasts: false })
    else if (kind === 's') this.#node(ino).lasting = Math.max(this.#node(ino).lasting, at)
    else if (kind === 'm') this.mapped.add(this.#pathOf(ino))
    else if (kind === 'c' || kind === 'd') this.#make(path, ino, kind === 'd', start)
    else if (kind === 'u') this.#name(path, null, start)
    else if (kind === 'l') this.#name(other, this.#find(path), start)
    else if (kind === 'r') this.#rename(path, other, start)
    else if (kind !== 'k') throw new Error(`a record of the kind ${kind} at ${end}`)
  }

  #make(path: string, ino: number, folder: boolean, seq: number): void {
    if (path === '') return void this.#nodes.set(ino, this.#root)
    const node: Node = { ino, names: folder ? new Map() : undefined, ops: [], lasting: 0 }
    // A number is given anew when the file that had it is gone.
    this.#nodes.set(ino, node)
    this.#made.push(node)
    this.#name(path, node, seq)
  }

  #name(path: string, node: Node | null, seq: number): Name {
    const { folder, name } = this.#place(path)
    const op: Name = { seq, name, node }
    folder.ops.push(op)
    if (node === null) folder.names?.delete(name)
    else folder.names?.set(name, node)
    return op
  }

  #rename(from: string, to: string, seq: number): void {
    const node = this.#find(from)
    const [before, behind] = [this.#place(from), this.#place(to)]
    before.folder.names?.delete(before.name)
    behind.folder.names?.set(behind.name, node)
    if (before.folder === behind.folder) before.folder.ops.push({ seq, name: behind.name, node, from: before.name })
    else {
      const op: Name = { seq, name: behind.name, node }
      behind.folder.ops.push(op)
      before.folder.ops.push({ seq, name: before.name, node: null, after: op })
    }
  }

  #node(ino: number): Node {
    const node = this.#nodes.get(ino)
    if (node === undefined) throw new Error(`nobody made the file ${ino}`)
    return node
  }

  #place(path: string): { folder: Node; name: string } {
    const words = path.split('/')
    const name = words.pop() ?? ''
    return { folder: this.#find(words.join('/')), name }
  }

  #find(path: string): Node {
    let node = this.#root
    for (const word of path.split('/')) {
      if (word === '') continue
      const next = node.names?.get(word)
      if (next === undefined) throw new Error(`the journal does not know ${path}`)
      node = next
    }
    return node
  }

  #pathOf(ino: number): string {
    const wanted = this.#node(ino)
    const search = (node: Node, path: string): string | undefined => {
      for (const [name, child] of node.names ?? []) {
        const here = path === '' ? name : `${path}/${name}`
        const found = child === wanted ? here : search(child, here)
        if (found !== undefined) return found
      }
      return undefined
    }
    return search(this.#root, '') ?? ''
  }

  #tree(namesOf: (node: Node) => ReadonlyMap<string, Node>, bytesOf: (node: Node) => Buffer): Tree {
    const folders: string[] = []
    const files = new Map<string, Buffer>()
    const known = new Map<Node, Buffer>()
    const walk = (node: Node, path: string) => {
      for (const [name, child] of namesOf(node)) {
        const here = path === '' ? name : `${path}/${name}`
        if (child.names === undefined) {
          const bytes = known.get(child) ?? bytesOf(child)
          known.set(child, bytes)
          files.set(here, bytes)
        } else {
          folders.push(here)
          walk(child, here)
        }
      }
    }
    walk(this.#root, '')
    return { folders, files }
  }
}

/** The names of every folder: the lasting ones, and of the others those that came through. */
function survivors(nodes: Iterable<Node>, loss: Loss, random: () => number): Map<Node, Map<string, Node>> {
  const all: { node: Node; op: Name; certain: boolean }[] = []
  const result = new Map<Node, Map<string, Node>>()
  for (const node of nodes) {
    if (node.names === undefined) continue
    result.set(node, new Map())
    for (const op of node.ops as Name[]) all.push({ node, op, certain: op.seq < node.lasting })
  }
  all.sort((a, b) => a.op.seq - b.op.seq)
  const share = loss === 'all' ? 1 : loss === 'none' ? 0 : random()
  /** In order: everything up to one operation, in the whole tree, as a file system with one log does it. */
  const last = loss === 'order' ? (all[Math.floor(random() * all.length)]?.op.seq ?? 0) : Number.POSITIVE_INFINITY
  const applied = new Set<Name>()
  const stopped = new Map<Node, Set<string>>()
  for (const { node, op, certain } of all) {
    const stops = stopped.get(node) ?? new Set()
    stopped.set(node, stops)
    const names = op.from === undefined ? [op.name] : [op.name, op.from]
    const may = !names.some(name => stops.has(name)) && (op.after === undefined || applied.has(op.after))
    const comes = loss === 'order' ? op.seq <= last : random() < share
    if (!certain && !(may && comes)) {
      for (const name of names) stops.add(name)
      continue
    }
    applied.add(op)
    const into = result.get(node)
    if (op.from !== undefined) into?.delete(op.from)
    if (op.node === null) into?.delete(op.name)
    else into?.set(op.name, op.node)
  }
  return result
}

/** The bytes of a file: what lasts, and of each sector written since any of its states. */
function content(node: Node, loss: number, random: () => number): Buffer {
  const ops = node.ops as Data[]
  const open = ops.filter(op => op.seq >= node.lasting && !op.lasts)
  /** The length is that after so many of the operations that do not last. */
  const sized = loss === 0 ? open.length : loss === 1 ? 0 : Math.floor(random() * (open.length + 1))
  const unsized = new Set<Data>(open.slice(sized))
  const bytes = Buffer.alloc(ops.reduce((most, op) => Math.max(most, op.offset + (op.bytes?.length ?? 0)), 0))
  let size = 0
  const frozen = new Set<number>()
  for (const op of ops) {
    const certain = op.seq < node.lasting || op.lasts
    if (op.bytes === null) {
      if (unsized.has(op)) continue
      bytes.fill(0, op.offset)
      size = op.offset
      continue
    }
    const end = op.offset + op.bytes.length
    if (!unsized.has(op)) size = Math.max(size, end)
    if (certain) {
      op.bytes.copy(bytes, op.offset)
      continue
    }
    for (let at = op.offset; at < end; ) {
      const sector = Math.floor(at / sectorBytes)
      const to = Math.min(end, (sector + 1) * sectorBytes)
      if (!frozen.has(sector) && (loss === 0 || (loss < 1 && random() >= loss))) {
        op.bytes.copy(bytes, at, at - op.offset, to - op.offset)
      } else frozen.add(sector)
      at = to
    }
  }
  return bytes.subarray(0, size)
}

/** Writes a tree below `folder`. */
export function writeTree({ folders, files }: Tree, folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const path of folders) mkdirSync(join(folder, path), { mode: 0o700 })
  for (const [path, bytes] of files) writeFileSync(join(folder, path), bytes, { mode: 0o600 })
}

/** The tree that lies below `folder`; sockets are left out. */
export function readTree(folder: string): Tree {
  const folders: string[] = []
  const files = new Map<string, Buffer>()
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const found = statSync(join(folder, path))
    if (found.isDirectory()) folders.push(path)
    else if (found.isFile()) files.set(path, readFileSync(join(folder, path)))
  }
  return { folders, files }
}
