// Which uids a folder had at an earlier moment, worked out from what is there now and what went since.
//
// Nobody keeps such lists: a session remembers two numbers, and asks for the list when it needs one. A folder of any size is read
// in steps.

import { Fault } from '#lib/fault.ts'
import { burstPace } from '#lib/pace.ts'
import type { Reader } from '../../engine/reader.ts'
import { folderCounters } from '../listing.ts'
import { isForgotten } from './expunged.ts'

/**
 * The uids a folder had when its change number was `modseq` and its next uid `uidNext`, rising: those that are there and
 * those that went since.
 *
 * @throws Fault SessionEnded where that is not known any more
 */
export async function uidsAsOf(
  reader: Reader,
  mailbox: number,
  modseq: number,
  uidNext: number,
): Promise<Uint32Array<ArrayBuffer>> {
  const found = await reader.snapshot(async read => {
    const counters = await folderCounters(read, mailbox)
    if (counters === undefined || uidNext <= 1) return new Uint32Array(0)
    const here = await unbrokenUids(read, mailbox, uidNext, counters)
    return here === undefined ? counters.total : together(here, await goneBefore(read, mailbox, modseq, uidNext))
  })
  if (typeof found !== 'number') return found
  // What goes while these are read is among those that went, which are read last: it needs no picture that is held for so long.
  const here = await presentUids(reader, mailbox, uidNext, found)
  return together(here, await goneBefore(reader, mailbox, modseq, uidNext))
}

async function goneBefore(read: Reader, mailbox: number, modseq: number, uidNext: number): Promise<[number][]> {
  const text = 'SELECT uid FROM expunged WHERE mailbox = ? AND modseq > ? AND uid < ? ORDER BY uid'
  const rows = await read.arrays<[number]>(text, mailbox, modseq, uidNext)
  // After the rows: what was forgotten before they were read is seen now.
  if (await isForgotten(read, mailbox, modseq)) throw outdated()
  return rows
}

/** For who was told nothing of a folder for so long that it cannot be said what went meanwhile. */
export function outdated(): Fault {
  return new Fault('SessionEnded', {
    text: 'Too much went since this session was told the last time, select the mailbox again',
  })
}

/** Both, rising, each once. */
function together(here: Uint32Array<ArrayBuffer>, gone: readonly [number][]): Uint32Array<ArrayBuffer> {
  if (gone.length === 0) return here
  const uids = new Uint32Array(here.length + gone.length)
  uids.set(here)
  for (const [at, [uid]] of gone.entries()) uids[here.length + at] = uid
  let count = 0
  for (const uid of uids.sort()) if (count === 0 || uids[count - 1] !== uid) uids[count++] = uid
  return uids.slice(0, count)
}

/** The uids of a folder in which none is missing between the first and the last, or undefined. */
async function unbrokenUids(
  read: Reader,
  mailbox: number,
  uidNext: number,
  counters: { uidNext: number; total: number },
): Promise<Uint32Array<ArrayBuffer> | undefined> {
  // Nothing was ever taken out: no need to look.
  if (counters.total === counters.uidNext - 1) {
    return rising(1, Math.min(uidNext, counters.uidNext) - 1)
  }
  const edge = await read.one<{ first: number | null; last: number | null }>(
    `SELECT (SELECT uid FROM message WHERE mailbox = ? ORDER BY uid LIMIT 1) AS first,
      (SELECT uid FROM message WHERE mailbox = ? ORDER BY uid DESC LIMIT 1) AS last`,
    mailbox,
    mailbox,
  )
  const { first, last } = { first: edge?.first ?? 0, last: edge?.last ?? 0 }
  if (last - first + 1 !== counters.total) return undefined
  return rising(first, Math.max(0, Math.min(uidNext - 1, last) - first + 1))
}

/** A folder of hundreds of thousands of messages is read in steps of a millisecond each. */
const uidsInOneGo = 2000

/** @param most how many there are at most */
async function presentUids(
  read: Reader,
  mailbox: number,
  uidNext: number,
  most: number,
): Promise<Uint32Array<ArrayBuffer>> {
  const uids = new Uint32Array(most)
  const pace = burstPace(`folder ${mailbox}`)
  for (let count = 0; ; ) {
    const rows = await read.arrays<[number]>(
      'SELECT uid FROM message WHERE mailbox = ? AND uid > ? AND uid < ? ORDER BY uid LIMIT ?',
      mailbox,
      count === 0 ? 0 : uids[count - 1],
      uidNext,
      uidsInOneGo,
    )
    for (const [uid] of rows) uids[count++] = uid
    if (rows.length < uidsInOneGo) return uids.slice(0, count)
    if (pace.spent) await pace.turn()
  }
}

function rising(first: number, length: number): Uint32Array<ArrayBuffer> {
  const uids = new Uint32Array(length)
  for (let at = 0; at < length; at++) uids[at] = first + at
  return uids
}
