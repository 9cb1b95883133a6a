// Does what is owed (owed.ts), one after the other and in one window at a time: a lock of the browser says in which.
//
// Where the service does not answer it waits and is tried again. What cannot be done any more is said, and lists show how it is. Where
// an answer was lost, messages that are not there any more are where they were to go.

import { otherWindows } from '../../base/browser.ts'
import { call, isPassing, Refusal } from '../../base/client.ts'
import { number } from '../../base/language.ts'
import { explain, failed } from '../../base/notice.tsx'
import { session } from '../../base/session.ts'
import { folderMade } from '../folders/made.ts'
import { marked, patched, unreadOf } from '../list/rows.ts'
import { forgetLists, listsOf, type Row, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import { type Deed, drop, note, type Owed, owe, readOwed, renumber } from './owed.ts'

/** How it went: `moved` are the numbers that messages have where they are now. */
export interface Outcome {
  readonly state: 'done' | 'waits' | 'refused'
  readonly moved: readonly number[]
}

const againMs = 10_000
/** Whoever does not answer so long does not. */
const answerMs = 120_000
const heard = new Map<string, (outcome: Outcome) => void>()
/** Numbers that messages got, for who takes it back later. */
const results = new Map<string, readonly number[]>()
const resultsMax = 100

interface Told {
  readonly user: string
  readonly id: string
  readonly outcome: Outcome
}

/** Other windows, which may wait to hear how it went. */
const tellOthers = otherWindows<Told>('teal.owed', told => {
  if (told.user === session.value?.user?.id) settle(told.id, told.outcome)
})

/** Wants something done; lists show it at once. @returns its id, and how it went or that it waits */
export function want(deed: Deed): { id: string; outcome: Promise<Outcome> } {
  const rows = rowsOf(deed)
  for (const list of listsOf(deed.mailbox)) {
    if (deed.kind === 'mark') list.patch(deed.mailbox, new Set(deed.uids), deed.marks)
    else list.unselect(deed.mailbox, new Set(deed.uids))
  }
  const { id } = owe(deed, Math.min(unreadOf(rows), deed.uids.length), rows)
  const outcome = new Promise<Outcome>(resolve => heard.set(id, resolve))
  doOwed()
  return { id, outcome }
}

/** As they are listed where they are, or where they are to go. */
function rowsOf({ mailbox, uids }: Deed): Row[] {
  const wanted = new Set(uids)
  const known = readOwed().flatMap(({ rows = [] }) => rows.filter(row => row.mailbox === mailbox && wanted.has(row.id)))
  const listed = listsOf(mailbox).flatMap(list => list.rowsAmong(mailbox, wanted))
  return [...new Map([...known.map(row => patched(row, marked())), ...listed].map(row => [row.id, row])).values()]
}

let timer: ReturnType<typeof setTimeout> | undefined
let running: Promise<void> = Promise.resolve()

/** Does what is owed, as far as the service answers. */
export function doOwed(): void {
  if (session.value?.user !== undefined && readOwed().length > 0) void alone(drain).catch(failed)
}

addEventListener('online', doOwed)

/** Waits until all of it is done, or waits for the service. */
export async function tryOwed(): Promise<void> {
  if (readOwed().length > 0) await alone(drain)
}

/** One at a time in this browser. */
function alone(run: () => Promise<void>): Promise<void> {
  // Browsers have locks for safe origins alone.
  const { locks } = navigator as Partial<Navigator>
  const start = () => (locks === undefined ? run() : locks.request(`teal.owed.${user()}`, run))
  running = running.catch(() => {}).then(start)
  return running
}

async function drain(): Promise<void> {
  clearTimeout(timer)
  const of = session.value?.user?.id
  const isAway = readOwed().some(one => one.isLate) && !(await isBack())
  for (;;) {
    const [next] = session.value?.user?.id === of ? readOwed() : []
    if (next === undefined) break
    if (isAway || !(await doOne(next))) {
      timer = setTimeout(doOwed, againMs)
      for (const { id, isLate } of readOwed()) {
        if (!isLate) note(id, { isLate: true })
        heard.get(id)?.({ state: 'waits', moved: [] })
      }
      return
    }
  }
  // Another window was before this one, and did it.
  for (const id of [...heard.keys()]) settle(id, { state: 'done', moved: [] })
}

/**
 * Whether the service answers again, by a question that changes nothing: a browser says that it has a network before it can be used, and of a
 * change whose answer is lost nobody knows whether it was made.
 */
async function isBack(): Promise<boolean> {
  if (!navigator.onLine) return false
  try {
    await call('GET /healthz', { signal: AbortSignal.timeout(answerMs) })
    return true
  } catch {
    return false
  }
}

/** @returns false where the service does not answer */
async function doOne(one: Owed): Promise<boolean> {
  // Without a network nothing can have been done.
  if (!navigator.onLine) return false
  if (!one.isTried) note(one.id, { isTried: true })
  try {
    const numbers = await perform(one)
    for (const list of one.deed.kind === 'mark' ? [] : listsOf(one.deed.mailbox))
      list.take(one.deed.mailbox, new Set(one.deed.uids))
    finish(one.id, { state: 'done', moved: [...numbers.values()] })
  } catch (error) {
    if (isPassing(error)) {
      if (isSurelyNotDone(error)) note(one.id, { isTried: false })
      return false
    }
    finish(one.id, { state: 'refused', moved: [] })
    const { notDone } = mailTexts.value.owed
    failed(one.isLate ? new Refusal(0, 'NotDone', notDone(number(one.deed.uids.length), explain(error))) : error)
    forgetLists()
  }
  return true
}

/** The service itself refused it. */
function isSurelyNotDone(error: unknown): boolean {
  return error instanceof Refusal && error.status >= 400 && error.status < 500
}

function finish(id: string, outcome: Outcome): void {
  drop(id)
  settle(id, outcome)
  tellOthers({ user: user(), id, outcome })
}

function settle(id: string, outcome: Outcome): void {
  results.set(id, outcome.moved)
  for (const old of [...results.keys()].slice(0, Math.max(0, results.size - resultsMax))) results.delete(old)
  heard.get(id)?.(outcome)
  heard.delete(id)
}

const updating = 'PUT /users/:user/mailboxes/:mailbox/messages'
const deleting = 'DELETE /users/:user/mailboxes/:mailbox/messages/:message'

/** @returns numbers that messages had and have where they were moved to @throws Refusal */
async function perform(one: Owed): Promise<ReadonlyMap<number, number>> {
  const { deed, isTried, isLate } = one
  const { mailbox, uids } = deed
  const params = { user: user(), mailbox }
  let done = 0
  let numbers: ReadonlyMap<number, number> = new Map()
  try {
    if (deed.kind === 'delete') done = await deleteEach(deed.mailbox, uids)
    else {
      const to = deed.kind === 'move' ? await folderId(deed.to) : ''
      // It was to go elsewhere before, and could not.
      if (to === mailbox) return numbers
      const change = deed.kind === 'mark' ? deed.marks : { moveTo: to }
      const { id = [], updated = 0 } = await call(updating, {
        params,
        body: { message: uids.join(','), ...change },
        signal: AbortSignal.timeout(answerMs),
      })
      numbers = new Map(id.map(([had = 0, has = 0]) => [had, has]))
      done = updated
      if (to !== '') renumber(one, numbers, to)
    }
  } catch (error) {
    const isGone = error instanceof Refusal && error.code === 'MessageNotFound'
    if (!isGone || !isTried) throw error
    return new Map()
  }
  if (isLate && !isTried && done < uids.length) {
    const { someGone } = mailTexts.value.owed
    failed(new Refusal(0, 'NotDone', someGone(number(uids.length - done))))
  }
  return numbers
}

/** @throws Refusal where none of them was there, too */
async function deleteEach(mailbox: string, uids: readonly number[]): Promise<number> {
  let done = 0
  let gone: unknown
  for (const message of uids) {
    try {
      await call(deleting, { params: { user: user(), mailbox, message }, signal: AbortSignal.timeout(answerMs) })
      done += 1
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'MessageNotFound') throw error
      gone = error
    }
  }
  if (done === 0 && gone !== undefined) throw gone
  return done
}

async function folderId(to: string): Promise<string> {
  return to === '\\Archive' ? (await folderMade(to)).id : to
}

/** Takes back what was moved: before it is done, or back to where it was. */
export async function takeBack(id: string, { mailbox, at = mailbox }: Deed, to: string): Promise<void> {
  await alone(async () => {
    if (readOwed().some(one => one.id === id)) {
      drop(id)
      heard.delete(id)
      forgetLists()
      return
    }
    const uids = results.get(id) ?? []
    if (uids.length > 0) owe({ kind: 'move', mailbox: await folderId(to), uids, to: at }, 0)
  })
  await tryOwed()
  forgetLists()
}
