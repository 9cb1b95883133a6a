// The access token that a caller shows, by the precedence of api-semantics 1.2: the query, then two headers.

import { Fault } from '#lib/fault.ts'
import type { Tree } from '../input/form.ts'

/** Takes it out of the query; '' where none is shown. @throws Fault InvalidToken for one that nobody has */
export function shownToken(header: (name: string) => string, query: Tree | null): string {
  let token = ''
  if (query !== null && 'accessToken' in query) {
    // Given twice, or as a group, it is none that anybody has.
    if (typeof query.accessToken !== 'string') throw new Fault('InvalidToken')
    token = query.accessToken
    delete query.accessToken
  }
  if (token === '') token = header('x-access-token')
  return token === ''
    ? header('authorization')
        .replace(/^bearer\s+/i, '')
        .trim()
    : token
}
