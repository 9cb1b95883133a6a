// Who is signed in, as the service says, and what that one may do.
//
// The cookie itself no script can read. What is shown by `may` is only for leaving out what would be refused: the service decides. Where it
// does not answer the page goes on as who was signed in last, with what this browser keeps (kept.ts), until it says otherwise. All
// windows of a browser hear when one of them signs in or out.

import { signal } from '@preact/signals'
import { local, otherWindows } from './browser.ts'
import { call, Refusal, type Reply, watchSession } from './client.ts'
import { forgetKept, keep, keepFor, kept, removeOthers, whose } from './kept.ts'
import { forgetPage, keepPage } from './offline.ts'
import { soon } from './soon.ts'

export type Session = Reply<'GET /session'>
export type Owner = NonNullable<Session['user']>

/** A login that waits for its second factor. */
export interface Pending {
  readonly login: NonNullable<Session['pending']>
  readonly keep: boolean
}

/** Null until the service was asked. */
export const session = signal<Session | null>(null)
/** The page came with the form to sign in, since nobody seems to be: who comes can begin to type before the service was asked. */
export const isLikelyNobody = signal(false)
/** The service ended the session while the page was open. */
export const isEnded = signal(false)
/** Nobody could be asked, and nothing is known from before. */
export const isUnreached = signal(false)

const nobody: Session = { success: true, signedIn: false }
const name = 'session'
/** How long the service may take before the page goes on with what it knows. */
const answerMs = 5000
const againMs = 5000
/** Somebody signed out where the service could not be told. */
const owed = 'teal.owed.sign-out'

/** Account whose letters, folders and lists this page holds in memory. */
let held: string | undefined

/** Other windows of this browser. */
const tellOthers = otherWindows<string>('teal.session', user => {
  if (user === '') end()
  else if (user !== session.value?.user?.id) refreshSession().catch(() => {})
})

/** Questions and answers, in order: whoever signed in meanwhile is not signed out by an answer of before. */
let asked = 0
let shown = 0

/** Asks who is signed in. */
export async function refreshSession(): Promise<void> {
  asked += 1
  const turn = asked
  const found = await call('GET /session')
  if (turn > shown) show(found, false, turn)
}

/** The first question; where there is no answer, what is known from before goes on, and it is asked until there is one. */
export async function startSession(): Promise<void> {
  const user = whose()
  isLikelyNobody.value = user === '' && local.get(owed) === null && document.querySelector('form') !== null
  const asking = ask()
  const late = new Promise<'late'>(resolve => setTimeout(resolve, answerMs, 'late'))
  const how = await Promise.race([
    asking.then(
      () => 'answered' as const,
      () => 'failed' as const,
    ),
    late,
  ])
  if (how === 'answered') return
  asking.catch(() => askAgain())
  if (session.value !== null) return
  const known = local.get(owed) !== null ? nobody : await kept<Session>(user, name)
  if (user === '') await removeOthers('')
  if (session.value !== null) return
  // Who types already goes on while the service is slow.
  if (known === undefined) isUnreached.value = how === 'failed' || !isLikelyNobody.value
  else {
    held = known.user?.id ?? held
    session.value = known
  }
}

async function ask(): Promise<void> {
  if (local.get(owed) !== null) {
    await call('DELETE /session')
    local.remove(owed)
  }
  await refreshSession()
}

/** Asks until there is an answer. */
function askAgain(): void {
  const again = () => {
    clearTimeout(timer)
    removeEventListener('online', again)
    ask().catch(() => askAgain())
  }
  const timer = setTimeout(again, againMs)
  addEventListener('online', again)
}

/**
 * Goes on as who came in; for another account than before all of the page is loaded anew, so that it sees nothing of the first one's.
 *
 * @param isLong whether they wanted to stay signed in
 */
export function begin(entered: Session, isLong = false): void {
  asked += 1
  show(entered, isLong, asked)
}

function show(entered: Session, isLong: boolean, turn: number): void {
  const user = entered.user?.id
  shown = turn
  isUnreached.value = false
  if (entered.signedIn) {
    local.remove(owed)
    isEnded.value = false
  } else if (session.value?.signedIn === true) isEnded.value = true
  if (user !== undefined && held !== undefined && user !== held) {
    location.reload()
    return
  }
  held = user ?? held
  session.value = entered
  // Who acts as somebody else leaves nothing here.
  if (entered.acting !== undefined) return
  if (user !== undefined) tellOthers(user)
  // What is kept and what goes is not in the way of what is shown.
  if (isLong) void settle(entered, isLong)
  else
    soon(() => {
      if (session.value === entered) void settle(entered, isLong)
    })
}

async function settle(entered: Session, isLong: boolean): Promise<void> {
  const user = entered.user?.id
  if (user === undefined) return forget()
  keepPage()
  await keepFor(user, isLong)
  keep(user, name, entered)
}

/** Nobody is signed in any more, whatever an answer says that is under way. */
function end(): void {
  asked += 1
  shown = asked
  session.value = nobody
}

/** Nothing of whoever was signed in stays in this browser, but letters that the service has not yet. */
async function forget(): Promise<void> {
  await Promise.all([forgetKept(), forgetPage()])
}

/** Asked before somebody signs out; where one says no they stay. */
const questions: (() => Promise<boolean>)[] = []

/** Has something asked or done before somebody signs out. */
export function beforeSignOut(ask: () => Promise<boolean>): void {
  questions.push(ask)
}

/** @returns whether they did not rather stay */
export async function signOut(): Promise<boolean> {
  for (const ask of questions) if (!(await ask())) return false
  try {
    await call('DELETE /session')
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'Unreachable') throw error
    // The cookie is the service's to take; until then nobody is let on with it here.
    local.set(owed, '1')
    askAgain()
  }
  end()
  tellOthers('')
  await forget()
  return true
}

/** Comes back from acting as a user to the session that was there before. @param leave goes from where that user was */
export async function endActing(leave: () => void): Promise<void> {
  const before = await call('DELETE /session/acting')
  leave()
  begin(before)
}

const scopes = ['own', 'domain', 'any'] as const

/** Whether the token has a grant, `users.read`, at least for one's own things, those of some domains, or everybody's. */
export function may(grant: string, scope: (typeof scopes)[number] = 'own'): boolean {
  return scopes.slice(scopes.indexOf(scope)).some(one => one === session.value?.grants?.[grant])
}

/** The account that is signed in. Only below pages of an account. */
export function owner(): Owner {
  const user = session.value?.user
  if (user === undefined) throw new Error('Nobody with an account is signed in')
  return user
}

watchSession(() => {
  // Acting as a user ends by itself after a while: the session before goes on.
  if (session.value?.acting?.back === true) refreshSession().catch(() => {})
  else begin(nobody)
})
