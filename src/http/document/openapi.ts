// The whole API as OpenAPI 3.1, printed from the same table that serves it.
//
// Nothing is described twice: parameters, bodies, answers, faults and grants come from the endpoints, events from the
// catalogue that is passed in. The document is made once, at start.

import { Buffer } from 'node:buffer'
import type { TSchema } from 'typebox'
import { type FaultCode, faultForms } from '#lib/fault.ts'
import { anyType, bodyBytesMaxOf, type Endpoint, type Fields } from '../endpoint.ts'
import { origin } from '../schema.ts'
import { bodyFaults, commonFaults } from './conformity.ts'

type Json = Record<string, unknown>

export interface EventForm {
  readonly summary: string
  readonly fields: Fields
}

export interface OpenapiOptions {
  readonly endpoints: readonly Endpoint[]
  readonly version: string
  /** Events that webhooks deliver, by name. */
  readonly events: Readonly<Record<string, EventForm>>
  /** A sentence for each tag, in the order in which they are shown; other tags follow. */
  readonly tags?: Readonly<Record<string, string>>
}

const introduction = `Every answer is JSON with \`success: true\`; a refusal has \`error\` (a text for people), \`code\`
(a word for programs) and, where fields are wrong, \`details\` with one text for each of them.

Parameters of the path, the query and the body share one namespace and win in that order. Bodies may be JSON, urlencoded
or multipart forms. A call is allowed by an access token in the header \`X-Access-Token\`, as a bearer token in
\`Authorization\`, or in the query as \`accessToken\`.

Lists are paged: pass \`nextCursor\` or \`previousCursor\` of an answer as \`next\` or \`previous\`.`

/** The document as an object, fit for JSON. */
export function makeOpenapi(options: OpenapiOptions): Json {
  const paths: Record<string, Json> = {}
  const named = new Names()
  for (const endpoint of options.endpoints) {
    const path = named.path(endpoint.path)
    paths[path] ??= {}
    paths[path][endpoint.method.toLowerCase()] = {
      operationId: named.operation(endpoint),
      ...operation(endpoint, path),
    }
  }
  const used = new Set(options.endpoints.map(endpoint => endpoint.tag))
  const described = Object.entries(options.tags ?? {}).filter(([name]) => used.has(name))
  const known = new Set(described.map(([name]) => name))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Teal',
      version: options.version,
      description: introduction,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: [
      ...described.map(([name, description]) => ({ name, description })),
      ...[...used].filter(name => !known.has(name)).map(name => ({ name })),
    ],
    security: [{ accessToken: [] }, { bearer: [] }, { accessTokenInQuery: [] }],
    paths,
    webhooks: Object.fromEntries(Object.entries(options.events).map(([name, form]) => [name, webhook(name, form)])),
    components: {
      securitySchemes: {
        accessToken: { type: 'apiKey', in: 'header', name: 'X-Access-Token' },
        bearer: { type: 'http', scheme: 'bearer' },
        accessTokenInQuery: { type: 'apiKey', in: 'query', name: 'accessToken' },
      },
      schemas: { Error: errorSchema },
    },
  }
}

/** The document as it is served. */
export function printOpenapi(options: OpenapiOptions): Buffer {
  return Buffer.from(`${JSON.stringify(makeOpenapi(options), null, 2)}\n`)
}

const errorSchema: Json = {
  type: 'object',
  required: ['error', 'code'],
  properties: {
    error: { type: 'string', description: 'A text for people; may change' },
    code: { type: 'string', description: 'A word for programs' },
    details: {
      type: 'object',
      description: 'Path of a bad field, its keys joined with commas, and what is wrong with it',
      additionalProperties: { type: 'string' },
    },
    message: { type: 'string', description: 'The text once more, where no endpoint was reached' },
    id: { type: 'string', description: 'Id of the request, for whoever reads the log' },
  },
}

function operation(endpoint: Endpoint, path: string): Json {
  const { tag, summary, description, allow, listing } = endpoint
  const notes = [description, ...accessNotes(allow, listing === true)].filter(note => note !== undefined)
  return {
    tags: [tag],
    summary,
    description: notes.join('\n\n'),
    ...(allow === 'public' && { security: [] }),
    'x-grant': allow,
    parameters: parameters(endpoint, path),
    ...(takesBody(endpoint) && { requestBody: requestBody(endpoint) }),
    responses: responses(endpoint),
  }
}

function accessNotes(allow: Endpoint['allow'], listing: boolean): string[] {
  if (allow === 'public') return ['Needs no access token.']
  if (allow === null) return ['Needs any valid access token.']
  const note = `Needs the grant \`${allow}\`.`
  return [listing ? `${note} A caller who has it for own things only sees those.` : note]
}

/** The names of one document, where what is the same must have the same name, and nothing else. */
class Names {
  readonly #paths = new Map<string, string>()
  readonly #operations = new Set<string>()

  /** Paths that differ in the names of their parameters alone are one path (OpenAPI 4.8.8.1). */
  path(template: string): string {
    const shape = template.replace(/:\w+/g, '{}')
    const path = this.#paths.get(shape) ?? template.replace(/:(\w+)/g, '{$1}')
    this.#paths.set(shape, path)
    return path
  }

  /** A name for generated clients: the method and the path's words; paths may differ in case alone. */
  operation({ method, path }: Endpoint): string {
    const words = path.split(/[^A-Za-z0-9]+/).filter(word => word !== '')
    const name = method.toLowerCase() + words.map(word => word.slice(0, 1).toUpperCase() + word.slice(1)).join('')
    let free = name
    for (let count = 2; this.#operations.has(free); count++) free = `${name}${count}`
    this.#operations.add(free)
    return free
  }
}

function takesBody(endpoint: Endpoint): boolean {
  return endpoint.bodyKind !== 'json' || Object.keys(endpoint.body).length > 0
}

function parameters(endpoint: Endpoint, path: string): Json[] {
  const { params, query, headers } = endpoint
  const own = namesIn(endpoint.path, /:(\w+)/g)
  const shown = namesIn(path, /\{(\w+)\}/g)
  return [
    ...own.map((name, index) => ({
      ...parameter('path', shown[index] ?? name, params[name] as TSchema),
      required: true,
    })),
    ...Object.entries(query).map(([name, schema]) => parameter('query', name, schema)),
    ...Object.entries(origin)
      .filter(([name]) => !(name in params) && !(name in query))
      .map(([name, schema]) => parameter('query', name, schema)),
    ...headers.map(name => ({ in: 'header', name, schema: { type: 'string' } })),
  ]
}

function namesIn(path: string, pattern: RegExp): string[] {
  return [...path.matchAll(pattern)].map(([, name]) => String(name))
}

function parameter(place: string, name: string, schema: TSchema): Json {
  const { description, ...rest } = requested(schema)
  const isObject = rest.type === 'object'
  return {
    in: place,
    name,
    ...(description !== undefined && { description }),
    ...(isRequired(schema) && { required: true }),
    ...(place === 'query' && isObject && { style: 'deepObject', explode: true }),
    schema: rest,
  }
}

function requestBody(endpoint: Endpoint): Json {
  const bytes = { schema: { type: 'string', contentMediaType: 'application/octet-stream' } }
  if (endpoint.bodyKind === 'raw') return { required: true, content: { [anyType]: bytes } }
  const schema = objectSchema(endpoint.body)
  const content: Json = {
    'application/json': { schema },
    'application/x-www-form-urlencoded': { schema },
    'multipart/form-data': { schema },
  }
  if (endpoint.bodyKind === 'upload') content[anyType] = bytes
  const max = bodyBytesMaxOf(endpoint)
  const required = Array.isArray(schema.required) && schema.required.length > 0
  return { required, description: `At most ${size(max)}.`, content }
}

function size(bytes: number): string {
  const mib = 1024 * 1024
  return bytes % mib === 0 ? `${bytes / mib} MiB` : `${bytes} bytes`
}

function objectSchema(fields: Fields): Json {
  const entries = Object.entries(fields)
  const required = entries.filter(([, schema]) => isRequired(schema)).map(([name]) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, schema]) => [name, requested(schema)])),
    ...(required.length > 0 && { required }),
  }
}

function isRequired(schema: TSchema): boolean {
  return !('~optional' in schema) && !('default' in schema)
}

/** A schema of what is sent to us: what has a default need not be there. */
function requested(schema: TSchema): Json {
  return relax(JSON.parse(JSON.stringify(schema)) as Json) as Json
}

function relax(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(relax)
  if (typeof node !== 'object' || node === null) return node
  const result = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, relax(value)]))
  const { required, properties } = result
  if (!Array.isArray(required) || typeof properties !== 'object' || properties === null) return result
  const shown = properties as Record<string, Json>
  const left = required.filter(name => !('default' in (shown[String(name)] ?? {})))
  if (left.length === 0) delete result.required
  else result.required = left
  return result
}

function responses(endpoint: Endpoint): Json {
  const result: Record<string, Json> = { 200: success(endpoint) }
  // Statuses of what `ranged` answers (answer.ts).
  if (endpoint.headers.includes('if-none-match')) result[304] = { description: 'The client has it already' }
  if (endpoint.headers.includes('range')) result[206] = { ...result[200], description: 'The range that was asked for' }
  const codes = new Set<FaultCode>([...anyFaults(endpoint), ...endpoint.faults])
  const byStatus = Map.groupBy(codes, code => faultForms[code].status)
  for (const [status, group] of [...byStatus].toSorted(([a], [b]) => a - b)) {
    const lines = group.map(code => `- \`${code}\`: ${faultForms[code].text}`)
    const schema = { allOf: [{ $ref: '#/components/schemas/Error' }, { properties: { code: { enum: group } } }] }
    result[status] = { description: lines.join('\n'), content: { 'application/json': { schema } } }
  }
  return result
}

/** What it may be refused with without saying so itself. */
function anyFaults(endpoint: Endpoint): FaultCode[] {
  const { allow, params } = endpoint
  const never = allow === 'public' ? noToken : allow === null ? ['MissingPrivileges'] : []
  const common = [...commonFaults, ...(takesBody(endpoint) ? bodyFaults : [])].filter(code => !never.includes(code))
  // A part of the path that is too long, or no text, is no path that there is (api-semantics 1.1).
  return Object.keys(params).length > 0 ? [...common, 'ResourceNotFound'] : common
}

const noToken: readonly string[] = ['InvalidToken', 'ForeignPage', 'MissingPrivileges']

/** What is answered that has no fields: an object of any, text, or bytes. */
function plainSchema(type: string): Json {
  if (type === 'application/json') return { type: 'object' }
  return type.startsWith('text/') ? { type: 'string' } : { type: 'string', format: 'binary' }
}

function success(endpoint: Endpoint): Json {
  const { replyType } = endpoint
  if (replyType !== undefined) {
    return { description: 'Done', content: { [replyType]: { schema: plainSchema(replyType) } } }
  }
  const fields = Object.entries(endpoint.reply)
  const required = fields.filter(([, schema]) => !('~optional' in schema)).map(([name]) => name)
  const adds = !('success' in endpoint.reply)
  const schema = {
    type: 'object',
    properties: {
      ...(adds && { success: { type: 'boolean', const: true } }),
      ...Object.fromEntries(fields.map(([name, schema]) => [name, JSON.parse(JSON.stringify(schema)) as Json])),
    },
    required: adds ? ['success', ...required] : required,
  }
  return { description: 'Done', content: { 'application/json': { schema } } }
}

function webhook(name: string, form: EventForm): Json {
  const fields = objectSchema(form.fields)
  const schema = {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'Id of the delivery' },
      ev: { type: 'string', const: name },
      time: { type: 'integer', description: 'When it happened, milliseconds since 1970' },
      ...(fields.properties as Json),
    },
    required: ['id', 'ev', 'time', ...((fields.required as string[] | undefined) ?? [])],
  }
  return {
    post: {
      operationId: name,
      tags: ['Webhooks'],
      summary: form.summary,
      requestBody: { content: { 'application/json': { schema } } },
      responses: { '2XX': { description: 'Taken; anything else is tried again later' } },
    },
  }
}
