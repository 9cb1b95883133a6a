// What the page keeps in this browser of whoever is signed in, to show where the service does not answer: who it is, folders, lists, letters
// that were read.
//
// Of one account at a time. A cookie says of which: it ends with the browser where nobody asked to stay signed in, and then what is
// kept is removed unread. Whoever signs out, or is signed out, has nothing left here. Where the browser does not let us, nothing is kept.

import { soon } from './soon.ts'

const database = 'teal'
const version = 2
type Table = 'kept' | 'files'
const mark = 'teal-kept'
/** Entries beyond this go, the oldest first. */
const entriesMax = 600
const trimEach = 50
/** Longer ones are not kept, in characters of their JSON. */
const lengthMax = 1_000_000
/** As long as browsers keep a cookie. */
const longSeconds = 400 * 86_400

interface Entry {
  /** Account and name. */
  readonly key: string
  readonly at: number
  readonly value: string
}

/** Account whose things are kept; '' for nobody's. */
export function whose(): string {
  return new RegExp(`(?:^|; )${mark}=([0-9a-f]{24})(?:;|$)`).exec(document.cookie)?.[1] ?? ''
}

function setMark(user: string, seconds?: number): void {
  const age = seconds === undefined ? '' : `; Max-Age=${seconds}`
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  // biome-ignore lint/suspicious/noDocumentCookie: a cookie ends when the session's does, which no other store of browsers can
  document.cookie = `${mark}=${user}; Path=/; SameSite=Strict${secure}${age}`
}

/** Keeps for this account from now on; what there is of another one goes. @param isLong beyond the end of the browser */
export async function keepFor(user: string, isLong: boolean): Promise<void> {
  if (whose() !== user || isLong) setMark(user, isLong ? longSeconds : undefined)
  await removeOthers(user)
}

/** Removes everything that is kept. */
export async function forgetKept(): Promise<void> {
  setMark('', 0)
  await doing('kept', 'readwrite', store => store.clear())
}

/** Removes what is kept of anybody but this account; '' for of everybody. */
export async function removeOthers(user: string): Promise<void> {
  await doing('kept', 'readwrite', store => {
    store.delete(IDBKeyRange.upperBound(`${user} `, true))
    return store.delete(IDBKeyRange.lowerBound(`${user}!`))
  })
}

/** What was kept under a name; undefined where nothing was, or it is somebody else's. */
export async function kept<T>(user: string, name: string): Promise<T | undefined> {
  if (user === '' || whose() !== user) return undefined
  const entry = (await doing('kept', 'readonly', store => store.get(`${user} ${name}`))) as Entry | undefined
  return entry === undefined || whose() !== user ? undefined : (JSON.parse(entry.value) as T)
}

let puts = 0

/** Keeps a value of an account in a moment, where that is whose things are kept. */
export function keep(user: string, name: string, value: unknown): void {
  soon(() => put(user, name, value))
}

function put(user: string, name: string, value: unknown): void {
  const text = JSON.stringify(value)
  if (whose() !== user || text.length > lengthMax) return
  const entry: Entry = { key: `${user} ${name}`, at: Date.now(), value: text }
  void doing('kept', 'readwrite', store => (whose() === user ? store.put(entry) : undefined))
  puts += 1
  if (puts % trimEach === 0) void trim()
}

async function trim(): Promise<void> {
  await doing('kept', 'readwrite', store => {
    const counting = store.count()
    counting.addEventListener('success', () => {
      let left = counting.result - entriesMax
      if (left <= 0) return
      const going = store.index('at').openKeyCursor()
      going.addEventListener('success', () => {
        const cursor = going.result
        if (cursor === null || left <= 0) return
        left -= 1
        store.delete(cursor.primaryKey)
        cursor.continue()
      })
    })
    return counting
  })
}

let opening: Promise<IDBDatabase> | undefined

function opened(): Promise<IDBDatabase> {
  opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(database, version)
    request.addEventListener('upgradeneeded', () => {
      const { result } = request
      const has = (table: Table) => result.objectStoreNames.contains(table)
      if (!has('kept')) result.createObjectStore('kept', { keyPath: 'key' }).createIndex('at', 'at')
      if (!has('files')) result.createObjectStore('files', { keyPath: 'key' })
    })
    request.addEventListener('success', () => {
      // Another window, of a later page, wants it changed.
      request.result.addEventListener('versionchange', () => request.result.close())
      resolve(request.result)
    })
    request.addEventListener('error', () => reject(request.error))
  })
  return opening
}

/** Does one thing to what is kept; undefined where the browser keeps nothing, or there is no room. */
export async function doing(
  table: Table,
  mode: IDBTransactionMode,
  run: (store: IDBObjectStore) => IDBRequest | undefined,
): Promise<unknown> {
  try {
    const transaction = (await opened()).transaction(table, mode)
    const request = run(transaction.objectStore(table))
    return await new Promise(resolve => {
      transaction.addEventListener('complete', () => resolve(request?.result))
      transaction.addEventListener('abort', () => resolve(undefined))
    })
  } catch {
    opening = undefined
    return undefined
  }
}
