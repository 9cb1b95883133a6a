// The directory: what belongs to no account. One actor for settings, tokens and the like, so that their order is a queue.
//
// Of what an account can have made again and again, as tokens by logins, the turn that makes one takes away what is too much.

import { limits } from '#lib/limits.ts'
import {
  type TokenRow,
  tokenBind,
  tokenBound,
  tokenDelete,
  tokenInsert,
  tokensBoundTo,
} from '#store/accounts/tokens.ts'
import type { Reader } from '#store/engine/reader.ts'
import { type SettingKey, settingDelete, settingPut } from '#store/folder/settings.ts'
import type { Command, Turn } from '../kernel/actor.ts'

/** The directory keeps nothing in memory: its rows are few and its commands rare. */
export interface DirectoryState {
  readonly loaded: true
}

export async function loadDirectory(_read: Reader): Promise<DirectoryState> {
  return { loaded: true }
}

export type DirectoryCommand<Input, Reply> = Command<DirectoryState, Input, Reply>

/** Stores a new access token. */
export const createToken: DirectoryCommand<TokenRow, void> = {
  name: 'token.create',
  run(turn, row) {
    turn.write(tokenInsert, row)
    if (row.user !== null) turn.write(tokenBound, { user: row.user, max: limits.token.ofAccountMax })
  },
}

/** Ends an access token, by the hash of its text. */
export const revokeToken: DirectoryCommand<{ hash: string }, void> = {
  name: 'token.revoke',
  run(turn, row) {
    turn.write(tokenDelete, row)
  },
}

/**
 * Tokens that are bound to a domain are bound to `current` instead, or with null no longer: one that is bound to no other ends.
 * Whoever makes a domain of that name anew has nothing to do with who had it before.
 */
export async function rebindTokens(
  turn: Pick<Turn<DirectoryState>, 'read' | 'write'>,
  previous: string,
  current: string | null,
): Promise<void> {
  for (const { hash, domains } of await tokensBoundTo(turn.read, previous)) {
    const others = (domains ?? []).filter(name => name !== previous && name !== current)
    const left = current === null ? others : [...others, current]
    if (left.length === 0) turn.write(tokenDelete, { hash })
    else turn.write(tokenBind, { hash, domains: left })
  }
}

/** Changes a setting, or with null puts its default back. The caller applies it to the settings in memory afterwards. */
export const changeSetting: DirectoryCommand<{ key: SettingKey; value: number | boolean | string | null }, void> = {
  name: 'setting.change',
  run(turn, { key, value }) {
    if (value === null) turn.write(settingDelete, { key })
    else turn.write(settingPut, { key, value })
  },
}
