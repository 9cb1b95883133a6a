// The session of the page: signing in to a cookie, saying who is signed in, signing out.
//
// Whether somebody may come in is decided where the API decides it (actors/auth); a session is an access token that the browser keeps and
// no script can read. A second factor is always asked for here, since nobody else would. Only the page of this service is
// answered: what another site has a browser send signs nobody in or out (guard/session.ts).

import { Type } from 'typebox'
import type { Authentication } from '#actors/auth/authentication.ts'
import type { Logins } from '#actors/auth/login.ts'
import { liveUser, type OneTimeCodes } from '#actors/auth/one-time-code.ts'
import type { SecurityKeys } from '#actors/auth/security-key.ts'
import { factorsOf } from '#actors/user/credential.ts'
import { now } from '#lib/clock.ts'
import { Fault, invalid } from '#lib/fault.ts'
import { numberId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { tokenDigest } from '#lib/secret/token.ts'
import { findToken } from '#store/accounts/tokens.ts'
import { lastModseq } from '#store/accounts/users.ts'
import { findMailboxByPath } from '#store/mailboxes/mailboxes.ts'
import { json } from '../../answer.ts'
import { endpoint, type Request } from '../../endpoint.ts'
import { type Caller, grantsOf } from '../../guard/access.ts'
import { browserName } from '../../guard/browser-name.ts'
import { actingCookie, isOwnPage, pageHeaders, pageTokens, sessionCookie } from '../../guard/session.ts'
import { bool, hex, moment, optional, text, userId } from '../../schema.ts'
import { beginActing, endActing, type ImpersonationDeps } from './impersonation.ts'
import { answering, askedOf, asking, assertionFields } from './webauthn-fields.ts'

export interface PageSessionDeps extends ImpersonationDeps {
  readonly authentication: Authentication
  readonly logins: Logins
  readonly codes: OneTimeCodes
  readonly securityKeys: SecurityKeys
  /** Tells whose token it is. Throws InvalidToken. */
  identify(token: string): Caller | Promise<Caller>
  /** Ends a token, by the hash of its text. */
  revoke(hash: string): Promise<void>
  /** Names a user's token, by the hash of its text. */
  name(hash: string, label: string): Promise<void>
  /** Milliseconds a session lives at most. */
  readonly lifetimeMs: number
}

const factors = Type.Array(Type.String(), { description: 'Second factors of which one is to be shown' })
const account = Type.Object({
  id: userId,
  username: Type.String(),
  name: Type.String(),
  address: Type.String(),
  language: Type.String(),
  requirePasswordChange: Type.Boolean(),
  factors: Type.Array(Type.String()),
  inbox: Type.String({ description: 'Id of the folder INBOX, which is asked for first' }),
  lastEvent: Type.String({
    description: '`Last-Event-ID` of `GET /users/:user/updates` for whoever reads folders from now on',
  }),
})
export const shape = {
  signedIn: Type.Boolean(),
  user: Type.Optional(account),
  role: Type.Optional(Type.String({ description: 'Of the token' })),
  grants: Type.Optional(
    Type.Record(Type.String(), Type.String(), { description: '`users.read` -> `own`, `domain` or `any`' }),
  ),
  domains: Type.Optional(
    Type.Array(Type.String(), { description: 'Those that the caller looks after, where it is limited to some' }),
  ),
  acting: Type.Optional(
    Type.Object(
      { expires: moment, back: Type.Boolean({ description: 'Whether the session before goes on afterwards' }) },
      { description: 'Somebody who looks after the service acts as this user' },
    ),
  ),
  pending: Type.Optional(
    Type.Object({ user: userId, nonce: Type.String(), factors }, { description: 'What is still to be shown' }),
  ),
}
const nonce = hex(40, 40, { description: 'The nonce of the login' })
const keep = bool({ default: false, description: 'Whether the browser keeps it when it is closed' })
const faults = ['ForeignPage', 'AuthFailed', 'InvalidAuthScope', 'RateLimitedError', 'TempPasswordNotYetValid'] as const
export const common = { tag: 'Session', allow: 'public', headers: [...pageHeaders, 'user-agent'] } as const

export function pageSessionEndpoints(deps: PageSessionDeps) {
  const { authentication, logins, codes, securityKeys } = deps

  const show = endpoint({
    ...common,
    method: 'GET',
    path: '/session',
    summary: 'Who is signed in on the page',
    reply: shape,
    async run({ request }) {
      const { own, acting } = tokensOf(request)
      if (own === '') return { signedIn: false }
      if (acting === '') return who(deps, own)
      const acted = await who(deps, acting, true)
      if (acted.signedIn) return acted
      // Its time is over: the session itself goes on.
      const headers = { 'set-cookie': actingCookie('', request.secure) }
      return json(200, { success: true, ...(await who(deps, own)) }, headers)
    },
  })

  const begin = endpoint({
    ...common,
    method: 'POST',
    path: '/session',
    summary: 'Sign in on the page',
    description:
      'With a name and a password, or with an access token. Where a second factor is on the answer holds `pending`; a cookie ' +
      'comes with the factor. Only the page of this service is answered.',
    body: {
      username: optional(text({ min: 1, max: 255, description: 'Username or address' })),
      password: optional(text({ min: 1, max: limits.password.lengthMax, trim: false })),
      accessToken: optional(text({ max: 255, description: 'An access token instead of both' })),
      keep,
    },
    reply: shape,
    faults: [...faults, 'InvalidToken'],
    async run({ input, request, signal }) {
      requirePage(request)
      if (input.accessToken !== undefined) {
        if (!cookieValue.test(input.accessToken)) throw new Fault('InvalidToken')
        return enter(deps, request, input.accessToken, input.keep, false)
      }
      if (input.username === undefined) throw invalid('username', 'is required')
      if (input.password === undefined) throw invalid('password', 'is required')
      const { username, password } = input
      const attempt = { username, password, scope: 'master', protocol: 'Web', ip: request.address, signal } as const
      const entered = await authentication.authenticate(attempt)
      const { token, twoFactorNonce } = await logins.complete(entered, true)
      if (token !== undefined) {
        // Whoever checks a factor of its own is not here to do so.
        if (entered.factors.length > 0) throw new Fault('MissingPrivileges')
        return enter(deps, request, token, input.keep)
      }
      const pending = { user: entered.user, nonce: twoFactorNonce ?? '', factors: [...entered.factors] }
      return { signedIn: false, pending }
    },
  })

  const code = endpoint({
    ...common,
    method: 'POST',
    path: '/session/totp',
    summary: 'Finish signing in with a one-time code',
    body: { user: userId, nonce, code: text({ min: 6, max: 6 }), keep },
    reply: shape,
    faults: ['ForeignPage', 'UserNotFound', 'RateLimitedError', 'InvalidTotpNonce', 'TotpDisabled', 'InvalidToken'],
    async run({ input, request, signal }) {
      requirePage(request)
      const origin = { ip: request.address, protocol: 'Web' }
      const token = await codes.check(input.user, { code: input.code, nonce: input.nonce }, origin, signal)
      return enter(deps, request, token ?? '', input.keep)
    },
  })

  const challenge = endpoint({
    ...common,
    method: 'POST',
    path: '/session/webauthn-challenge',
    summary: 'Begin to show a security key to finish signing in',
    body: { ...asking, user: userId, nonce },
    reply: { authenticationOptions: answering },
    faults: ['ForeignPage', 'UserNotFound', 'WebAuthnDisabled', 'Invalid2faNonce'],
    async run({ input, request }) {
      requirePage(request)
      return { authenticationOptions: await securityKeys.askToLogin(input.user, input.nonce, askedOf(input)) }
    },
  })

  const key = endpoint({
    ...common,
    method: 'POST',
    path: '/session/webauthn',
    summary: 'Finish signing in with a security key',
    body: { ...assertionFields, user: userId, nonce, keep },
    reply: shape,
    faults: [
      ...(['ForeignPage', 'UserNotFound', 'RateLimitedError', 'Invalid2faNonce', 'ChallengeNotFound'] as const),
      ...(['CredentialsNotFound', 'InvalidAssertion'] as const),
    ],
    async run({ input, request, signal }) {
      requirePage(request)
      const { user, nonce: shown, keep: kept, challenge: asked, rawId, ...data } = input
      const { clientDataJSON, authenticatorData, signature, rpId } = data
      const answer = { challenge: asked, rawId, clientDataJSON, authenticatorData, signature, rpId }
      const origin = { ip: request.address, protocol: 'Web' }
      const { token } = await securityKeys.login(user, { ...answer, nonce: shown, token: false }, origin, signal)
      return enter(deps, request, token ?? '', kept)
    },
  })

  const end = endpoint({
    ...common,
    method: 'DELETE',
    path: '/session',
    summary: 'Sign out on the page',
    description: 'Tokens that were made on the command line stay.',
    faults: ['ForeignPage'],
    async run({ request }) {
      requirePage(request)
      const { own } = await leaveActing(deps, request)
      await release(deps, own)
      const cookies = [sessionCookie('', request.secure), actingCookie('', request.secure)]
      return json(200, { success: true }, { 'set-cookie': cookies })
    },
  })

  return [show, begin, code, challenge, key, end, ...actingEndpoints(deps)]
}

/** The page of an operator acts as a user for a while, and comes back. */
function actingEndpoints(deps: PageSessionDeps) {
  const act = endpoint({
    ...common,
    method: 'POST',
    path: '/session/acting',
    summary: 'Act as a user on the page for a while',
    description:
      'As `POST /users/:user/impersonate`, in a second cookie: the session itself stays, and goes on when this is ended or over.',
    allow: 'impersonation.create',
    body: { user: userId, reason: optional(text({ max: limits.token.labelLengthMax, trim: true, empty: true })) },
    reply: shape,
    faults: ['ForeignPage', 'UserNotFound', 'UserDisabled'],
    async run({ input, caller, request }) {
      requirePage(request)
      if (tokensOf(request).own === '') throw new Fault('ForeignPage')
      const wanted = { user: input.user, reason: input.reason ?? '', ip: request.address }
      const { token } = await beginActing(deps, wanted, caller, request)
      const headers = { 'set-cookie': actingCookie(token, request.secure) }
      return json(200, { success: true, ...(await who(deps, token, true)) }, headers)
    },
  })

  const cease = endpoint({
    ...common,
    method: 'DELETE',
    path: '/session/acting',
    summary: 'Come back from acting as a user',
    reply: shape,
    faults: ['ForeignPage'],
    async run({ request }) {
      requirePage(request)
      const { own } = await leaveActing(deps, request)
      const answer = own === '' ? { signedIn: false } : await who(deps, own)
      return json(200, { success: true, ...answer }, { 'set-cookie': actingCookie('', request.secure) })
    },
  })

  return [act, cease]
}

/** Ends acting as a user, where somebody does. */
async function leaveActing(deps: PageSessionDeps, request: Request) {
  const tokens = tokensOf(request)
  if (tokens.acting !== '') await endActing(deps, tokens.acting, request)
  return tokens
}

/** What may stand in a cookie (RFC 6265 4.1.1). */
const cookieValue = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/

export function requirePage(request: Request): void {
  if (!isOwnPage(name => request.header(name), request.method)) throw new Fault('ForeignPage')
}

function tokensOf(request: Request) {
  return pageTokens(name => request.header(name), request)
}

/** Puts a token into the browser, and ends the one that was there. @param isFresh it was made for this; any other keeps its name */
export async function enter(deps: PageSessionDeps, request: Request, token: string, keep: boolean, isFresh = true) {
  const answer = await who(deps, token)
  if (!answer.signedIn) throw new Fault('InvalidToken')
  const { own: before, acting } = await leaveActing(deps, request)
  if (before !== token) await release(deps, before)
  const browser = isFresh ? browserName(request.header('user-agent')) : ''
  if (browser !== '') await deps.name(tokenDigest(token), browser)
  const cookie = sessionCookie(token, request.secure, keep ? deps.lifetimeMs : undefined)
  const cookies = acting === '' ? [cookie] : [cookie, actingCookie('', request.secure)]
  return json(200, { success: true, ...answer }, { 'set-cookie': cookies })
}

/** Ends a session's token; one of an operator stays. */
async function release(deps: PageSessionDeps, token: string): Promise<void> {
  if (token === '') return
  const caller = await identified(deps, token)
  if (caller?.tokenKind === 'user') await deps.revoke(tokenDigest(token))
}

async function identified(deps: PageSessionDeps, token: string): Promise<Caller | null> {
  try {
    return await deps.identify(token)
  } catch (error) {
    if (error instanceof Fault && error.code === 'InvalidToken') return null
    throw error
  }
}

/** @param back whether another session goes on behind this one */
async function who(deps: PageSessionDeps, token: string, back = false) {
  const caller = await identified(deps, token)
  if (caller === null) return { signedIn: false }
  const { role, domains } = caller
  const row = role === 'impersonated' ? await findToken(deps.system.read, tokenDigest(token)) : undefined
  const may = {
    ...{ role, grants: grantsWith(role, domains) },
    ...(domains !== undefined && { domains: [...domains] }),
    ...(row !== undefined && { acting: { expires: new Date(row.expires ?? 0).toISOString(), back } }),
  }
  if (caller.user === null) return { signedIn: true, ...may }
  const user = await liveUser(deps.system, caller.user)
  const { id, username, name, address, options, temporary, num } = user
  const { read } = deps.system
  // Read before anything that is answered later: who follows from here on misses nothing.
  const lastEvent = numberId(await lastModseq(read, num))
  const inbox = (await findMailboxByPath(read, num, 'INBOX'))?.id ?? ''
  const requirePasswordChange = options.requirePasswordChange === true || (temporary?.expires ?? 0) > now()
  const shown = { id, username, name, address, requirePasswordChange, language: options.language ?? '' }
  return { signedIn: true, ...may, user: { ...shown, factors: factorsOf(user), inbox, lastEvent } }
}

/** What a role may do; with domains to look after also what that allows. */
function grantsWith(role: Caller['role'], domains: readonly string[] = []): Record<string, string> {
  const own = grantsOf(role)
  if (domains.length === 0) return { ...own }
  const wider = Object.entries(grantsOf('domain')).filter(([grant]) => own[grant] !== 'any')
  return { ...own, ...Object.fromEntries(wider) }
}
