// The span of a call: by its route, never by its path or its query, which hold ids and may hold tokens.
//
// Whoever shows a good token goes on with the trace it names (traceparent); a stranger's header begins nothing and stops nothing.

import { parseTraceparent } from '#lib/tracing/span.ts'
import type { Tracer } from '#lib/tracing/tracer.ts'

interface Answered {
  readonly method: string
  readonly route: string
  readonly status: number
  readonly address: string
  readonly secure: boolean
  /** Id of the account, for the token of one. */
  readonly user: string | null
  /** The caller has shown a token that is good. */
  readonly known: boolean
  readonly requestId: string
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE'])
const serverError = 500
const clientError = 400

/** Begins with the head of a request. @returns what ends it, once */
export function traceCall(tracer: Tracer, traceparent: string): (answered: Answered) => void {
  const parent = traceparent === '' ? undefined : parseTraceparent(traceparent)
  const own = tracer.begin()
  return ({ method: given, route, status, address, secure, user, known, requestId }) => {
    const begun =
      parent === undefined || !known
        ? own
        : { ...own, traceId: parent.traceId, parentId: parent.spanId, sampled: parent.sampled }
    const method = methods.has(given) ? given : '_OTHER'
    tracer.end(begun, {
      name: `${method === '_OTHER' ? 'HTTP' : method} ${route}`,
      kind: 'server',
      attributes: {
        'http.request.method': method,
        ...(route !== 'unknown' && { 'http.route': route }),
        'http.response.status_code': status,
        'url.scheme': secure ? 'https' : 'http',
        'client.address': address || undefined,
        'user.id': user ?? undefined,
        'teal.request.id': requestId,
        'error.type': status >= clientError ? String(status) : undefined,
      },
      failed: status >= serverError,
    })
  }
}
