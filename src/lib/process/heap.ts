// What the engine does with memory: it keeps far more of it than a program needs, as long as nobody says otherwise.
//
// At a start modules are read, compiled and thrown away, and the engine would keep the room for that until it grew idle by
// its own measure, which a small server feels as tens of megabytes. Where masses of data go through, old garbage piles up
// to several times what is in use. And a service that works after a rest would have to warm up again: code that did not
// run for a while is thrown away, and old garbage is looked for after each few megabytes (bench/NOTES.md, Memory).

import { PerformanceObserver, performance } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { after, every, type Timer } from '../clock.ts'
import { memoryIsScarce } from './memory.ts'

/** How much a heap may grow, percent of what was in use, before old garbage is looked for. */
const growthPercent = { small: 30, warm: 200 }

/** How long heaps are kept small after the last wish: a collection between two pieces of work would let them grow. */
const lingerMs = 5000

let holders = 0
/** What holds while nobody wants small heaps: 0 is the engine's own choice. */
let usualPercent = 0

/**
 * Keeps the heaps of this process near what they use until a while after the returned function is called: old garbage is
 * looked for often, for some percent of the time. For work on masses of data that nobody waits for.
 */
export function keepHeapSmall(): () => void {
  if (holders++ === 0) setFlagsFromString(`--heap-growing-percent=${growthPercent.small}`)
  return () => void after(lingerMs, letGo)
}

function letGo(): void {
  if (--holders === 0) setFlagsFromString(`--heap-growing-percent=${usualPercent}`)
}

/**
 * Keeps what this process works with: code that has run, and room for garbage. For a process that is a service and nothing
 * else, once what only its start needed is gone. Young garbage is then collected by the thread whose it is: helpers take
 * their time from the other threads (2 to 3% of the deliveries, on two cores).
 */
export function keepWarm(): void {
  // What has little memory stays as small as it began (`boundYoung`), for some percent of the time.
  if (memoryIsScarce()) return
  usualPercent = growthPercent.warm
  if (holders === 0) setFlagsFromString(`--heap-growing-percent=${usualPercent}`)
  setFlagsFromString('--no-flush-bytecode')
  setFlagsFromString('--no-parallel-scavenge')
}

/** Bytes of the young part of a heap, both halves of it, beyond which it does not grow; the engine's own choice is 32 MiB. */
const youngBytes = 8 * 1024 * 1024
/** Two looks for garbage in so short a time: there is work. */
const busyMs = 1000
/** From the smallest it takes two. */
const growthsMax = 8

/**
 * Bounds the young part of the heaps of this process, and so the longest halt of collecting one: what lives there is copied in one
 * go, up to 30 ms of work where it may be as large as the engine lets it (bench/NOTES.md, Nobody in another's way). The
 * engine takes a bound on its command line alone. Left to grow by itself it would be told to stop too late, several collections
 * after somebody saw that; so none grows by itself. Threads that start from now on have from the start what they may have, and
 * this one lets its own grow when there is work: one that rests is small after all its garbage was collected.
 */
export function boundYoung(): void {
  // Another engine may not know it, and says so on its error output.
  if (!process.versions.v8.startsWith('12.')) return
  // There the engine's own bounds are lower, and threads have a bound of their own (thread.ts).
  if (memoryIsScarce()) return void keepHeapSmall()
  setFlagsFromString(`--min-semi-space-size=${youngBytes / 2 / 1024 / 1024}`)
  // A start makes much garbage before anybody hears of it.
  growYoung()
  let last = Number.NEGATIVE_INFINITY
  let vain = 0
  const observer = new PerformanceObserver(list => {
    for (const { startTime } of list.getEntries()) {
      const busy = startTime - last < busyMs
      last = startTime
      const size = youngSize()
      if (!busy || size >= youngBytes) continue
      growYoung()
      vain = youngSize() > size ? 0 : vain + 1
      if (vain < vainMax) continue
      // Where a container has little memory the engine's own bound is lower: it is left to that. Garbage made to grow it would call for more.
      observer.disconnect()
      setFlagsFromString(`--semi-space-growth-factor=${usualGrowth}`)
      return
    }
  })
  observer.observe({ entryTypes: ['gc'] })
}

/** How often the young part may stay as it is although it was to grow. */
const vainMax = 3
/** The engine's own choice. */
const usualGrowth = 2

/** Lets the engine have it as large as wanted, by showing it that much of it lives. */
function growYoung(): void {
  for (let growths = 0, size = youngSize(); growths < growthsMax && size < youngBytes; growths++, size = youngSize()) {
    setFlagsFromString(`--semi-space-growth-factor=${Math.max(2, Math.floor(youngBytes / 2 / size))}`)
    const living: unknown[] = []
    for (let made = 0; made < 4 * size && youngSize() === size; made += pieceBytes) {
      const piece = new Array(pieceBytes / 8).fill(0)
      if (made < size) living.push(piece)
    }
  }
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** An array that is copied as fast as memory is: below what is large for the engine. */
const pieceBytes = 16 * 1024

function youngSize(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0
}

/** What of a second its loop may have worked at most in a quiet one. */
const quietShare = 0.05
/** Seconds in which a quiet one is waited for: a service that is never idle keeps what it works with. */
const quietTries = 60

/**
 * Collects all garbage of this thread once, in the first second in which nobody wants anything: it halts everybody.
 *
 * @param settled what comes then, also where no second was quiet
 */
export function collectWhenQuiet(settled?: () => void): void {
  let tries = 0
  const looks = eachSecond(quiet => {
    if (quiet) collectGarbage()
    if (!quiet && ++tries < quietTries) return
    looks.cancel()
    settled?.()
  })
}

/** By how much what is old in a heap may have grown before it is looked through in a quiet second: bytes, and a part of what was in use. */
const leftMax = { bytes: 2 * 1024 * 1024, part: 0.1 }
/** Quiet seconds, one after the other, before that. */
const restSeconds = 10

/**
 * Collects all garbage of this thread once it was quiet for a while, where enough may have gathered: what many leave behind who came at
 * once would stay as long as nobody else comes. For a thread whose halt others do not feel. The engine throws compiled code away
 * with it, which whoever comes next waits for (bench/NOTES.md, Fronts on two cores): not between two bursts of work.
 */
export function collectWhileQuiet(): Timer {
  let held = 0
  let seconds = 0
  return eachSecond(quiet => {
    seconds = quiet ? seconds + 1 : 0
    if (seconds < restSeconds) return
    const old = oldBytes()
    held = Math.min(held, old)
    if (old - held < Math.max(leftMax.bytes, held * leftMax.part)) return
    collectGarbage()
    held = oldBytes()
    seconds = 0
  })
}

/** Says after each second whether this thread's loop had nearly nothing to do in it. */
function eachSecond(heard: (quiet: boolean) => void): Timer {
  let last = performance.eventLoopUtilization()
  return every(1000, () => {
    const { utilization } = performance.eventLoopUtilization(last)
    last = performance.eventLoopUtilization()
    heard(utilization < quietShare)
  })
}

/** What is in this thread's heap beyond what was just made. */
function oldBytes(): number {
  const spaces = getHeapSpaceStatistics().filter(({ space_name }) => !space_name.startsWith('new'))
  return spaces.reduce((sum, space) => sum + space.space_used_size, 0)
}

/** Collects all garbage of this thread now. Halts everybody meanwhile (bench/NOTES.md, Memory). */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  // The flag is the whole process's: another thread that collects may have taken it back meanwhile.
  const collect: unknown = runInNewContext('globalThis.gc')
  setFlagsFromString('--no-expose-gc')
  if (typeof collect === 'function') collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
