// Bodies that cannot be read: finding it out before their length is promised to anybody, and telling the operator once.
//
// What a sender or a client announces it must be able to send. A small body is whole in memory when it is opened; of a larger
// one every file must be there and as long as its table says, and packed pieces must unpack. Bytes that were changed
// without a trace are what `teal verify` finds by their hashes. Nothing here repairs.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Reader } from '../engine/reader.ts'
import { DamagedBody } from './format/codec.ts'
import type { Body } from './read.ts'

/** Too many open files: a matter of the moment. */
const passing: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM'])

export class BodyProof {
  readonly #read: Reader
  readonly #log: Log | undefined
  /** Parts that were unpacked before; their files are only looked at again. */
  readonly #proven = new Set<string>()
  readonly #told = new Set<number>()

  constructor(read: Reader, log: Log | undefined) {
    this.#read = read
    this.#log = log
  }

  /** Bodies found so since the start. */
  get unreadable(): number {
    return this.#told.size
  }

  /**
   * Makes sure that bytes `start` to `end` of a body can be read.
   *
   * @throws Fault MessageNotFound, BodyUnreadable, StorageUnavailable
   */
  async prove(num: number, body: Body, start = 0, end = body.size): Promise<void> {
    if (body.inMemory) return
    try {
      if (this.#proven.size > limits.body.provenMax) this.#proven.clear()
      await body.prove(start, end, this.#proven)
    } catch (error) {
      throw await this.faultOf(num, error)
    }
  }

  /** What something means that was thrown while a body was read: MessageNotFound only where it is gone on purpose. */
  async faultOf(num: number, error: unknown): Promise<unknown> {
    const gone = error instanceof Fault && error.code === 'MessageNotFound'
    if (gone && (await this.#read.one('SELECT 1 FROM body WHERE num = ?', num)) === undefined) return error
    const { syscall, code = '' } = error as NodeJS.ErrnoException
    if (!gone && !(error instanceof DamagedBody) && syscall === undefined) return error
    if (passing.has(code)) return new Fault('StorageUnavailable', { cause: error })
    if (!this.#told.has(num) && this.#told.size < limits.body.unreadableMax) {
      this.#told.add(num)
      this.#log?.error({ body: num, error }, 'a stored message cannot be read; `teal verify` names all of them')
    }
    return new Fault('BodyUnreadable', { cause: error })
  }
}
