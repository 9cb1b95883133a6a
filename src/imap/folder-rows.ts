// Committed rows of one folder, as a session reads them (mail-store.ts).
//
// Every session that waits in a folder has one: it holds where to read and nothing else.

import { limits } from '#lib/limits.ts'
import type { Slices } from '#lib/pace.ts'
import type { Reader } from '#store/engine/reader.ts'
import { flagIndex } from '#store/mailboxes/flag-index.ts'
import { outdated, uidsAsOf } from '#store/mailboxes/gone/as-of.ts'
import { isForgotten } from '#store/mailboxes/gone/expunged.ts'
import {
  arrivals,
  changesAfter,
  countBetween,
  deletedIn,
  deletedUids,
  firstUnseen,
  folderCounters,
  goneAfter,
  type Listed,
  listRows,
  listSome,
  sizeBetween,
  type UidSlice,
  wentAfter,
} from '#store/mailboxes/listing.ts'
import type { FolderReads } from './mail-store.ts'

export class FolderRows implements FolderReads {
  readonly #read: Reader
  readonly #num: number

  constructor(read: Reader, num: number) {
    this.#read = read
    this.#num = num
  }

  compare({ gone, arrived }: Parameters<FolderReads['compare']>[0]) {
    const num = this.#num
    return this.#read.snapshot(async read => {
      const counters = await folderCounters(read, num)
      if (gone !== undefined && counters !== undefined && gone < counters.forgotten) throw outdated()
      return {
        modseq: counters?.modseq,
        gone: gone === undefined ? [] : await goneAfter(read, num, gone),
        fresh: arrived === undefined ? [] : await arrivals(read, num, arrived),
      }
    })
  }

  uidsAsOf(modseq: number, uidNext: number) {
    return uidsAsOf(this.#read, this.#num, modseq, uidNext)
  }

  countBetween(from: number, to: number) {
    return countBetween(this.#read, this.#num, from, to)
  }

  changesAfter(modseq: number, uid: number, upTo: number, count: number) {
    return changesAfter(this.#read, this.#num, modseq, uid, upTo, count)
  }

  goneAfter(modseq: number) {
    const num = this.#num
    return this.#read.snapshot(async read => {
      return (await isForgotten(read, num, modseq)) ? undefined : await goneAfter(read, num, modseq)
    })
  }

  wentAfter(modseq: number, isIt: (uid: number) => boolean) {
    return wentAfter(this.#read, this.#num, modseq, isIt)
  }

  firstUnseen() {
    return firstUnseen(this.#read, this.#num)
  }

  flags(slices: Slices) {
    return flagIndex(this.#read, this.#num, slices)
  }

  deletedUids(from: number, to: number) {
    return deletedUids(this.#read, this.#num, from, to)
  }

  sizeBetween(from: number, to: number) {
    return sizeBetween(this.#read, this.#num, from, to)
  }

  deleted() {
    return deletedIn(this.#read, this.#num)
  }

  rows(listed: Listed, slice: UidSlice, since: number) {
    return listRows(this.#read, this.#num, listed, slice, since)
  }

  someRows(listed: Listed, slice: UidSlice, since: number, words: readonly string[]) {
    return listSome(this.#read, this.#num, listed, slice, since, words, limits.imap.sliceLength)
  }
}
