// A line in the log for each call that changed what somebody may do or where mail goes, and for each export: who, what, and about whom.
//
// What has no account (keys for DKIM, certificates, domains, settings, webhooks, tokens) has no log of its own but this. A line names the
// endpoint, ids from its path, names that an operator would look for, and which fields were given: never what stood in them.

import { cut, type Journal } from '#lib/journal/journal.ts'
import { limits } from '#lib/limits.ts'
import type { Context, Endpoint } from '../endpoint.ts'
import type { Resource } from '../guard/access.ts'
import { callerName } from './actor.ts'

/** What is read and what is written every minute, a message, a draft or a mark, is not among them. */
const resources: ReadonlySet<string> = new Set<Resource>([
  ...([
    'users',
    'credentials',
    'addresses',
    'asps',
    'filters',
    'autoreplies',
    'certs',
    'dkim',
    'domainaccess',
  ] as const),
  ...([
    'domainaliases',
    'domains',
    'webhooks',
    'settings',
    'audit',
    'export',
    'import',
    'queue',
    'backups',
    'tokens',
  ] as const),
  'impersonation',
])

/** Where mail or accounts leave as a whole. */
const exports: ReadonlySet<string> = new Set([
  '/data/export',
  '/audit/:audit/export.mbox',
  '/users/:user/export.mbox',
  '/users/:user/export.zip',
])

/** POST that changes nothing. */
const trials = /\/(?:test|preview|check|resolve)$/

/** Of the input, what names a thing. Where two of a kind are meant, the path's comes first. */
const naming = ['username', 'address', 'domain', 'alias', 'selector', 'servername', 'role'] as const

const own: ReadonlySet<string> = new Set(['ip', 'sess', 'page'])

/** The same endpoints, which tell of what they did. */
export function audited(endpoints: readonly Endpoint[], journal: Pick<Journal, 'note' | 'on'>): Endpoint[] {
  return endpoints.map(endpoint => (isTold(endpoint) ? telling(endpoint, journal) : endpoint))
}

function isTold({ method, path, allow }: Endpoint): boolean {
  if (exports.has(path)) return true
  if (method === 'GET' || allow === null || trials.test(path)) return false
  return resources.has(allow.split('.')[0] ?? '')
}

function telling(endpoint: Endpoint, journal: Pick<Journal, 'note' | 'on'>): Endpoint {
  return {
    ...endpoint,
    run: async call => {
      const result = await endpoint.run(call)
      if (journal.on)
        journal.note('audit', call.request.address, fieldsOf(endpoint, call, result), 'a call changed something')
      return result
    },
  }
}

function defaultOf(schema: object | undefined): unknown {
  return (schema as { default?: unknown } | undefined)?.default
}

function fieldsOf(endpoint: Endpoint, { caller, input }: Context<Record<string, unknown>>, result: unknown) {
  const { method, path, params, body } = endpoint
  const about: Record<string, string> = {}
  for (const name of [...Object.keys(params), ...naming]) {
    const value = input[name]
    if (typeof value === 'string') about[name] ??= cut(value)
  }
  const id = (result as { id?: unknown } | undefined)?.id
  // What was left out stands there with its default.
  const given = Object.keys(input).filter(
    name => name in body && !own.has(name) && input[name] !== defaultOf(body[name]),
  )
  return {
    by: cut(callerName(caller)),
    ...(typeof input.ip === 'string' && caller.user === null && { for: cut(input.ip) }),
    action: `${method} ${path}`,
    ...about,
    ...(typeof id === 'string' && !('id' in about) && { id }),
    ...(given.length > 0 && { fields: given.slice(0, limits.journal.fieldsMax) }),
  }
}
