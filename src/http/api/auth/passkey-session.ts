// Signing in on the page with a passkey alone: nobody says who they are, the passkey does, and it knows its owner.
//
// What is asked is the same for everybody and keeps nothing; what is refused says nothing of who has an account or a key. Both are bound to
// the page that asked, as the browser names it.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { endpoint, type Request } from '../../endpoint.ts'
import { bool, hex } from '../../schema.ts'
import { common, enter, type PageSessionDeps, requirePage, shape } from './page-session.ts'
import { answering, assertionFields } from './webauthn-fields.ts'

const { userHandleLengthMax } = limits.webauthn

export function passkeySessionEndpoints(deps: PageSessionDeps) {
  const { securityKeys } = deps
  const { rpId: _, ...brought } = assertionFields

  const challenge = endpoint({
    ...common,
    method: 'POST',
    path: '/session/passkey-challenge',
    summary: 'Begin to sign in with a passkey alone',
    description: 'The same for everybody: the passkey says whose it is. The answer serves once, and not for long.',
    reply: { authenticationOptions: answering },
    faults: ['ForeignPage'],
    async run({ request }) {
      return { authenticationOptions: securityKeys.askAnybody(pageOf(request)) }
    },
  })

  const show = endpoint({
    ...common,
    method: 'POST',
    path: '/session/passkey',
    summary: 'Sign in with a passkey alone',
    description: 'The passkey must have verified its owner, by a finger, a face or a PIN.',
    body: {
      ...brought,
      userHandle: hex(2, userHandleLengthMax, { description: 'As the browser gave it' }),
      keep: bool({ default: false, description: 'Whether the browser keeps it when it is closed' }),
    },
    reply: shape,
    faults: ['ForeignPage', 'RateLimitedError', 'ChallengeNotFound', 'InvalidAssertion', 'InvalidToken'],
    async run({ input, request, signal }) {
      const page = pageOf(request)
      const { keep, userHandle, ...answer } = input
      const user = Buffer.from(userHandle, 'hex').toString('latin1')
      const origin = { ip: request.address, protocol: 'Web' }
      const token = await securityKeys.enter({ ...answer, user, page }, origin, signal)
      return enter(deps, request, token, keep)
    },
  })

  return [challenge, show]
}

/** The page that asks, as its browser says. @throws Fault ForeignPage */
function pageOf(request: Request): string {
  requirePage(request)
  const origin = request.header('origin')
  if (!URL.canParse(origin)) throw new Fault('ForeignPage')
  return origin
}
