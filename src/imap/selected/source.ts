// A stored message as the bytes a client sees: the lines on top and the body behind them, and the parts in it.
//
// Small messages are in memory and answer at once; large ones are read in pieces and never held whole. Where the
// parts lie was stored when the message arrived, so nothing here parses mail.

import assert from 'node:assert'
import type { Pace } from '#lib/pace.ts'
import { type PartIndex, type Range, type SectionKind, sectionRange } from '#mail/mime/section.ts'
import type { StoredDetail } from '#store/mailboxes/outlines.ts'
import type { Body, MailStore } from '../mail-store.ts'

const nothing = Buffer.alloc(0)

export class MessageSource {
  readonly size: number
  readonly #mail: Pick<MailStore, 'body' | 'prove'>
  readonly #num: number
  readonly #prefix: Buffer
  readonly #body: Body
  readonly #detail: string | undefined
  #index: PartIndex | undefined
  readonly #pace: Pace

  /**
   * @param pace of whoever reads
   * @param detail what was stored about the body when it arrived (store/mailboxes/outlines.ts), where sections will be asked for
   * @throws Fault MessageNotFound when the body went meanwhile
   */
  static async open(
    mail: Pick<MailStore, 'body' | 'prove'>,
    pace: Pace,
    num: number,
    prefix: string,
    detail?: string | null,
  ): Promise<MessageSource> {
    return new MessageSource(mail, pace, num, await mail.body(num), prefix, detail)
  }

  private constructor(
    mail: Pick<MailStore, 'body' | 'prove'>,
    pace: Pace,
    num: number,
    body: Body,
    prefix: string,
    detail?: string | null,
  ) {
    this.#mail = mail
    this.#pace = pace
    this.#num = num
    this.#prefix = prefix === '' ? nothing : Buffer.from(prefix)
    this.#detail = detail ?? undefined
    this.#body = body
    this.size = this.#prefix.length + this.#body.size
  }

  /** Makes sure that bytes `start` to `end` will come. @throws Fault MessageNotFound, BodyUnreadable */
  prove(start: number, end: number): Promise<void> {
    const top = this.#prefix.length
    return this.#mail.prove(this.#num, this.#body, start - top, end - top)
  }

  /** Whether `pieces` answers. */
  get inMemory(): boolean {
    return this.#body.inMemory
  }

  /** Bytes from `start` to `end` of a message in memory, in at most two pieces. */
  pieces(start: number, end: number): Buffer[] {
    const top = this.#prefix.length
    const rest = this.#body.read(Math.max(0, start - top), Math.max(0, end - top)) as Buffer
    if (start >= top) return [rest]
    const first = this.#prefix.subarray(start, end)
    return end > top ? [first, rest] : [first]
  }

  /** Bytes from `start` to `end`, which must be few enough to hold. */
  async read(start: number, end: number): Promise<Buffer> {
    const pieces = this.inMemory ? this.pieces(start, end) : []
    if (!this.inMemory) for await (const piece of this.stream(start, end)) pieces.push(piece)
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
  }

  /** The same in pieces; others have their turn in between. */
  async *stream(start: number, end: number): AsyncGenerator<Buffer> {
    const top = this.#prefix.length
    if (start < top) yield this.#prefix.subarray(start, Math.min(end, top))
    if (end <= top) return
    for await (const piece of this.#body.stream(Math.max(0, start - top), end - top)) {
      yield piece
      if (this.#pace.spent) await this.#pace.turn()
    }
  }

  /** Where a section lies in the bytes a client sees; null where the message has no such part. */
  section(path: readonly number[], kind: SectionKind): Range | null {
    const range = sectionRange(this.index, path, kind)
    const top = this.#prefix.length
    if (range === null) return null
    // The lines on top belong to the header of the message.
    const start = path.length === 0 && kind !== 'TEXT' ? 0 : range.start + top
    return { start, end: range.end + top }
  }

  /** The tree of its parts; offsets count from the body's first byte. */
  get index(): PartIndex {
    assert(this.#detail !== undefined, 'sections need the stored detail')
    this.#index ??= (JSON.parse(this.#detail) as StoredDetail).index
    return this.#index
  }

  /** The content of the leaf at `range`, where it is stored without its base64. */
  decoded(range: Range): ReturnType<Body['attachment']> {
    const top = this.#prefix.length
    return range.start < top ? null : this.#body.attachment(range.start - top, range.end - top)
  }
}
