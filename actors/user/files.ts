// Commands on the files an account stores for composing. They count against the quota like messages do.
//
// Content is received before the turn and is a body like that of a message, so what is stored twice is stored once. A file
// never changes; whoever opens one may go on reading it for a while after it was deleted.

import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { countFiles, type FileRow, fileDelete, fileInsert, findFile } from '#store/accounts/file.ts'
import { findUser } from '#store/accounts/users.ts'
import type { Bodies, Received } from '#store/bodies/bodies.ts'
import { bodyAdd } from '#store/bodies/writes.ts'
import type { Reader } from '#store/engine/reader.ts'
import { nextModseq, quotaOf, requireUser, type UserCommand } from './user.ts'

export interface NewFile {
  readonly filename: string
  /** Media type. */
  readonly type: string
  /** Content-ID without brackets; null for none. */
  readonly cid: string | null
  /** Bytes of it. */
  readonly size: number
  /** The row of its body, which gets its number in here, and about what that weighs. */
  readonly content: ReturnType<Received['bodyRow']>
}

/** Stores a file. @throws Fault OverQuotaError, TooManyFiles */
export const createFile: UserCommand<NewFile, { id: string }> = {
  name: 'file.create',
  async run(turn, { filename, type, cid, size, content: { row, weight } }) {
    requireUser(turn)
    const { state } = turn
    if (state.storage + size > quotaOf(turn)) throw new Fault('OverQuotaError')
    const { total } = await countFiles(turn.read, { user: state.num, query: '' })
    if (total >= limits.storage.filesMax) throw new Fault('TooManyFiles')
    const body = turn.sequence.next('body')
    const id = newId()
    turn.write(bodyAdd, { ...row, num: body }, weight)
    turn.write(fileInsert, { id, user: state.num, filename, type, cid, size, body, created: turn.now })
    nextModseq(turn, size)
    return { id }
  },
}

/** Takes files away; those there are not are passed over unless `strict`. @throws Fault FileNotFound */
export const deleteFiles: UserCommand<{ ids: readonly string[]; strict: boolean }, { deleted: number }> = {
  name: 'file.delete',
  async run(turn, { ids, strict }) {
    requireUser(turn)
    const files: FileRow[] = []
    for (const id of new Set(ids)) {
      const file = await findFile(turn.read, turn.state.num, id)
      if (file !== undefined) files.push(file)
      else if (strict) throw new Fault('FileNotFound')
    }
    if (files.length === 0) return { deleted: 0 }
    turn.write(fileDelete, { ids: files.map(file => file.id) })
    nextModseq(
      turn,
      files.reduce((sum, file) => sum - file.size, 0),
    )
    return { deleted: files.length }
  },
}

export interface StoredFile {
  readonly id: string
  readonly filename: string
  readonly type: string
  readonly cid: string | null
  readonly size: number
  readonly created: number
  /** The content; all of it where no bounds are given. */
  stream(start?: number, end?: number): AsyncIterable<Buffer>
}

/** Opens a file of an account, for a download or for composing; undefined where the account has none with this id. */
export async function readFile(
  { read, bodies }: { read: Reader; bodies: Bodies },
  user: string,
  id: string,
): Promise<StoredFile | undefined> {
  const owner = await findUser(read, user)
  if (owner === undefined || owner.deleted !== null) return undefined
  const file = await findFile(read, owner.num, id)
  if (file === undefined) return undefined
  const { filename, type, cid, size, created } = file
  const stream = (start = 0, end = size) => bodies.stream(file.body, start, end)
  return { id, filename, type, cid, size, created, stream }
}
