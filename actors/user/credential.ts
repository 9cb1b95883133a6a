// Commands on what opens an account beside its password: second factors, application passwords, a temporary password.
//
// A code or a counter is checked and used up in one turn, so two logins never share one. The first second factor ends every
// token and session, but for the token that switched it on; `keep` is that token's hash. Hashing, sealing and checking
// keys happen before a turn, and what they were made from is compared again inside it.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { shownScopes } from '#lib/secret/asp.ts'
import { checkTotp, type TotpUse, enableTotp as tryTotp, unusedTotp } from '#lib/secret/totp.ts'
import {
  type AspRow,
  aspDelete,
  aspInsert,
  type CredentialRow,
  credentialClear,
  credentialCount,
  credentialDelete,
  credentialInsert,
  expiredAsps,
  listAsps,
  listCredentials,
  tokenKeep,
} from '#store/accounts/credentials.ts'
import { type TemporaryPassword, type User, userUpdate } from '#store/accounts/users.ts'
import { requireUser, type UserCommand, type UserTurn } from './user.ts'

export type Factor = 'totp' | 'webauthn' | 'custom'

/** The second factors that are on. */
export function factorsOf(user: User): Factor[] {
  const known = (user.options.enabled2fa ?? []).map(name => (name === 'u2f' ? 'webauthn' : name))
  return (['totp', 'webauthn', 'custom'] as const).filter(name => known.includes(name))
}

/** Keeps a seed until a code shows that it arrived; a second set-up replaces it. */
export const beginTotp: UserCommand<{ sealed: string }, void> = {
  name: 'totp.begin',
  run(turn, { sealed }) {
    const user = structuredClone(requireUser(turn))
    if (factorsOf(user).includes('totp')) throw new Fault('TotpEnabled')
    user.options.totp = { ...user.options.totp, pending: { seed: sealed, created: turn.now } }
    store(turn, user)
  },
}

export interface CodeInput {
  /** The seed as it is stored, and in the clear. */
  readonly sealed: string
  readonly seed: string
  readonly code: string
}

/** Switches one-time codes on. @throws Fault TotpEnabled, TotpDisabled, InvalidToken */
export const enableTotp: UserCommand<CodeInput & { keep: string | null }, { authVersion: number }> = {
  name: 'totp.enable',
  run(turn, { sealed, seed, code, keep }) {
    const user = structuredClone(requireUser(turn))
    if (factorsOf(user).includes('totp')) throw new Fault('TotpEnabled')
    if (pendingSeed(user, turn.now) !== sealed) throw new Fault('TotpDisabled')
    const tried = tryTotp(seed, code, turn.now)
    if (tried.result !== 'ok') throw new Fault('InvalidToken', { status: 400, text: 'The code is not right' })
    user.options.totp = { seed: sealed, ...storedUse(tried.use) }
    switchOn(turn, user, 'totp', keep)
    turn.emit('mfa.totp.enabled', { user: user.id })
    return { authVersion: user.authVersion }
  },
}

/** The seed that waits for its first code, where there is one that is not too old. */
export function pendingSeed(user: User, at: number): string | undefined {
  const pending = user.options.totp?.pending
  return pending === undefined || at - pending.created > limits.credential.seedPendingMs ? undefined : pending.seed
}

/** Uses a code up. @throws Fault TotpDisabled where the factor is off, or its seed is another one by now */
export const useTotp: UserCommand<CodeInput, 'ok' | 'wrong' | 'replayed'> = {
  name: 'totp.use',
  run(turn, { sealed, seed, code }) {
    const user = structuredClone(requireUser(turn))
    const { totp } = user.options
    if (!factorsOf(user).includes('totp') || totp?.seed !== sealed) throw new Fault('TotpDisabled')
    const tried = checkTotp(seed, code, turn.now, lastUse(totp))
    if (tried.result !== 'ok') return tried.result
    user.options.totp = { seed: sealed, ...storedUse(tried.use) }
    store(turn, user)
    return 'ok'
  },
}

/** @throws Fault TotpDisabled */
export const disableTotp: UserCommand<void, void> = {
  name: 'totp.disable',
  run(turn) {
    const user = structuredClone(requireUser(turn))
    if (!factorsOf(user).includes('totp')) throw new Fault('TotpDisabled')
    delete user.options.totp
    switchOff(turn, user, 'totp')
    turn.emit('mfa.totp.disabled', { user: user.id })
  },
}

/** @throws Fault CustomEnabled, CustomDisabled */
export const switchCustom: UserCommand<{ on: boolean; keep: string | null }, void> = {
  name: 'custom.switch',
  run(turn, { on, keep }) {
    const user = structuredClone(requireUser(turn))
    const isOn = factorsOf(user).includes('custom')
    if (isOn && on) throw new Fault('CustomEnabled')
    if (!isOn && !on) throw new Fault('CustomDisabled')
    if (on) switchOn(turn, user, 'custom', keep)
    else switchOff(turn, user, 'custom')
    turn.emit(on ? 'mfa.custom.enabled' : 'mfa.custom.disabled', { user: user.id })
  },
}

/** Takes every second factor away. */
export const clearFactors: UserCommand<void, void> = {
  name: 'factors.clear',
  run(turn) {
    const user = structuredClone(requireUser(turn))
    delete user.options.totp
    delete user.options.enabled2fa
    store(turn, user)
    turn.write(credentialClear, { user: user.num })
    turn.emit('mfa.disabled', { user: user.id })
  },
}

/** Registers a security key. @throws Fault TooMany, InvalidAttestation where it is registered already */
export const addCredential: UserCommand<{ row: Omit<CredentialRow, 'user' | 'created'>; keep: string | null }, void> = {
  name: 'credential.add',
  async run(turn, { row, keep }) {
    const user = structuredClone(requireUser(turn))
    const others = await listCredentials(turn.read, user.num)
    const text = 'There are as many security keys as there may be'
    if (others.length >= limits.credential.keysMax) throw new Fault('TooMany', { text })
    if (others.some(({ rawId }) => rawId === row.rawId)) {
      throw new Fault('InvalidAttestation', { text: 'This security key is registered already' })
    }
    turn.write(credentialInsert, { ...row, user: user.num, created: turn.now })
    switchOn(turn, user, 'webauthn', keep)
    const { id, rawId, description, attachment } = row
    const credential = { id, rawId, description, authenticatorAttachment: attachment }
    turn.emit('mfa.webauthn.registered', { user: user.id, credential })
  },
}

/** Takes a security key away; with the last one the factor goes. @throws Fault CredentialsNotFound */
export const removeCredential: UserCommand<{ id: string }, void> = {
  name: 'credential.remove',
  async run(turn, { id }) {
    const user = structuredClone(requireUser(turn))
    const known = await listCredentials(turn.read, user.num)
    if (!known.some(one => one.id === id)) throw new Fault('CredentialsNotFound')
    turn.write(credentialDelete, { id })
    if (known.length === 1) switchOff(turn, user, 'webauthn')
    turn.emit('mfa.webauthn.removed', { user: user.id, credential: id })
  },
}

/** Remembers the counter a key showed. @throws Fault InvalidAssertion where a later one was shown meanwhile */
export const useCredential: UserCommand<{ id: string; counter: number }, void> = {
  name: 'credential.use',
  async run(turn, { id, counter }) {
    const user = requireUser(turn)
    const known = (await listCredentials(turn.read, user.num)).find(one => one.id === id)
    if (known === undefined) throw new Fault('CredentialsNotFound')
    if (counter === 0 && known.counter === 0) return
    if (counter <= known.counter) {
      throw new Fault('InvalidAssertion', { text: 'The answer is refused: its counter did not grow' })
    }
    turn.write(credentialCount, { id, counter })
  },
}

/** Stores an application password; `chosen` says that somebody thought it up. @throws Fault TooMany */
export const addAsp: UserCommand<{ row: Omit<AspRow, 'user' | 'created' | 'expires'>; chosen: boolean }, void> = {
  name: 'asp.add',
  async run(turn, { row, chosen }) {
    const user = requireUser(turn)
    const allowed = turn.settings.get('const:asp:limit')
    const others = await listAsps(turn.read, user.num, turn.now)
    const full = others.length >= allowed
    if (full || (chosen && others.filter(({ selector }) => selector === row.selector).length >= perSelector(allowed))) {
      const text = full
        ? 'There are as many application passwords as there may be'
        : 'There are too many similar application passwords, choose another one'
      throw new Fault('TooMany', { text, extra: { allowed } })
    }
    for (const id of await expiredAsps(turn.read, user.num, turn.now)) turn.write(aspDelete, { id })
    const expires = row.ttl > 0 ? turn.now + row.ttl : null
    turn.write(aspInsert, { ...row, user: user.num, created: turn.now, expires })
    turn.emit('asp.created', { user: user.id, asp: row.id, description: row.description })
  },
}

/** So many with one selector: each of them is hashed at a login. */
export function perSelector(allowed: number): number {
  return Math.max(limits.credential.aspsPerSelectorMax, Math.ceil(allowed / 16))
}

/** @throws Fault AspNotFound */
export const removeAsp: UserCommand<{ id: string }, { description: string; scopes: readonly string[] }> = {
  name: 'asp.remove',
  async run(turn, { id }) {
    const user = requireUser(turn)
    const asp = (await listAsps(turn.read, user.num, turn.now)).find(one => one.id === id)
    if (asp === undefined) throw new Fault('AspNotFound')
    turn.write(aspDelete, { id })
    turn.emit('asp.deleted', { user: user.id, asp: id, description: asp.description })
    return { description: asp.description, scopes: shownScopes(asp.scopes) }
  },
}

/** Sets a temporary password beside the real one, which keeps working; tokens and sessions end. */
export const setTemporary: UserCommand<TemporaryPassword, void> = {
  name: 'password.reset',
  run(turn, temporary) {
    const user = structuredClone(requireUser(turn))
    user.temporary = temporary
    user.authVersion += 1
    delete user.options.passwordPwned
    delete user.options.lastPwnedCheck
    store(turn, user)
    turn.endSessions('The password was reset')
  },
}

/** Remembers whether the password with this hash is known from a breach; not where it was changed meanwhile. */
export const judgePassword: UserCommand<{ hash: string; pwned: boolean }, void> = {
  name: 'password.judge',
  run(turn, { hash, pwned }) {
    const user = structuredClone(requireUser(turn))
    if (user.password !== hash) return
    user.options.passwordPwned = pwned
    user.options.lastPwnedCheck = turn.now
    store(turn, user)
  },
}

function switchOn(turn: UserTurn, user: User, factor: Factor, keep: string | null): void {
  const before = factorsOf(user)
  user.options.enabled2fa = [...before.filter(name => name !== factor), factor]
  if (before.length === 0) {
    user.authVersion += 1
    if (keep !== null) turn.write(tokenKeep, { hash: keep, user: user.id, authVersion: user.authVersion })
    turn.endSessions('A second factor was switched on')
  }
  store(turn, user)
}

function switchOff(turn: UserTurn, user: User, factor: Factor): void {
  user.options.enabled2fa = factorsOf(user).filter(name => name !== factor)
  store(turn, user)
}

function store(turn: UserTurn, user: User): void {
  turn.state.user = user
  turn.write(userUpdate, user)
}

function lastUse({ lastStep, enablingStep }: NonNullable<User['options']['totp']>): TotpUse {
  return lastStep === undefined ? unusedTotp : { step: lastStep, spare: enablingStep === lastStep }
}

function storedUse({ step, spare }: TotpUse): { lastStep: number; enablingStep?: number } {
  return spare ? { lastStep: step, enablingStep: step } : { lastStep: step }
}
