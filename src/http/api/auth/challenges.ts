// GET /.well-known/acme-challenge/:token: what an ACME server reads to see that a name is ours (RFC 8555 8.3).
//
// No token of the API is looked at, and nothing but tokens of orders under way is known here, so there is nothing to
// find out by asking. It works behind a proxy as well, since the path alone matters.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { binary } from '../../answer.ts'
import { endpoint } from '../../endpoint.ts'
import { text } from '../../schema.ts'

export interface ChallengeDeps {
  /** The key authorization of a token; undefined for a token nobody asked for. */
  answer(token: string): string | undefined
}

export function challengeEndpoints(challenges: ChallengeDeps) {
  const challenge = endpoint({
    method: 'GET',
    path: '/.well-known/acme-challenge/:token',
    tag: 'Certs',
    summary: 'Answer the challenge of an ACME server',
    allow: 'public',
    open: true,
    params: { token: text({ max: limits.http.pathParameterLengthMax, description: 'Token of the challenge' }) },
    replyType: 'application/octet-stream',
    faults: ['ResourceNotFound'],
    run({ input }) {
      const found = challenges.answer(input.token)
      if (found === undefined) throw new Fault('ResourceNotFound')
      return binary({ body: found, headers: { 'cache-control': 'no-store' } })
    },
  })

  return [challenge]
}
