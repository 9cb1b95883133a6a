// Who is signed in, as the service says, and what that one may do.
//
// The cookie itself no script can read. What is shown by `may` is only for leaving out what would be refused: the service decides.

import { signal } from '@preact/signals'
import { call, type Reply, watchSession } from './client.ts'

export type Session = Reply<'GET /session'>
export type Owner = NonNullable<Session['user']>

/** A login that waits for its second factor. */
export interface Pending {
  readonly login: NonNullable<Session['pending']>
  readonly keep: boolean
}

/** Null until the service was asked. */
export const session = signal<Session | null>(null)

const nobody: Session = { success: true, signedIn: false }

/** Asks who is signed in. */
export async function refreshSession(): Promise<void> {
  begin(await call('GET /session'))
}

/** Account whose letters, folders and lists this page holds in memory. */
let held: string | undefined

/** Goes on as who came in; for another account than before all of the page is loaded anew, so that it sees nothing of the first one's. */
export function begin(entered: Session): void {
  const user = entered.user?.id
  if (user !== undefined && held !== undefined && user !== held) {
    location.reload()
    return
  }
  held = user ?? held
  session.value = entered
}

export async function signOut(): Promise<void> {
  await call('DELETE /session')
  session.value = nobody
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
  else session.value = nobody
})
