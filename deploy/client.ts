// The types of the API for the web application, made from the service's own document: `node deploy/client.ts` writes web/base/api.ts.
//
// One entry for each call: what it takes in the path, the query and the body, and what it answers. A test finds a file that is stale.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

interface Schema {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
}

interface Operation {
  readonly parameters?: readonly { in: string; name: string; required?: boolean; schema: Schema }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: Schema }>> }
  readonly responses: Readonly<Record<string, { content?: Readonly<Record<string, { schema: Schema }>> }>>
}

/** As far as it is read here. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/** The text of web/base/api.ts. */
export function clientTypes({ paths }: Document): string {
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const name = `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`
      return `  '${name}': { params: ${given(operation, 'path')}; query: ${given(operation, 'query')}; body: ${body(operation)}; reply: ${reply(operation)} }\n`
    }),
  )
  const opening =
    "// The API's calls by method and path.\n//\n// Made by `node deploy/client.ts` from the service's own document; what is changed here is lost.\n"
  return `${opening}\nexport interface Calls {\n${calls.toSorted().join('')}}\n`
}

/** Who is behind a call is for those who speak for others. */
const others = new Set(['sess', 'ip'])

function given({ parameters = [] }: Operation, place: string): string {
  const fields = parameters.filter(one => one.in === place && (place === 'path' || !others.has(one.name)))
  return object(fields.map(({ name, schema, required }) => [name, schema, required === true]))
}

function body({ requestBody }: Operation): string {
  const content = requestBody?.content
  if (content === undefined) return 'undefined'
  const schema = content['application/json']?.schema
  const others = Object.keys(content).some(type => type === '*/*')
  return [...(schema === undefined ? [] : [type(schema)]), ...(others ? ['Blob'] : [])].join(' | ')
}

function reply({ responses }: Operation): string {
  const content = responses['200']?.content ?? {}
  const schema = content['application/json']?.schema
  return schema === undefined ? 'Blob' : type(schema)
}

function object(fields: readonly (readonly [name: string, schema: Schema, required: boolean])[]): string {
  if (fields.length === 0) return '{}'
  const key = (name: string) => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name))
  return `{ ${fields.map(([name, schema, required]) => `${key(name)}${required ? '' : '?'}: ${type(schema)}`).join('; ')} }`
}

function type(schema: Schema): string {
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ')
  const several = schema.anyOf ?? schema.oneOf
  if (several !== undefined) return [...new Set(several.map(type))].join(' | ')
  if (schema.allOf !== undefined) return schema.allOf.map(type).join(' & ')
  if (Array.isArray(schema.type)) return schema.type.map(one => type({ ...schema, type: one })).join(' | ')
  return plain(schema)
}

function plain(schema: Schema): string {
  const { type: name, items, properties = {}, required = [], additionalProperties, patternProperties } = schema
  if (name === 'string') return 'string'
  if (name === 'integer' || name === 'number') return 'number'
  if (name === 'boolean') return 'boolean'
  if (name === 'null') return 'null'
  if (name === 'array') return `(${items === undefined ? 'unknown' : type(items)})[]`
  if (name !== 'object') return 'unknown'
  const fields = Object.entries(properties).map(([key, one]) => [key, one, required.includes(key)] as const)
  if (fields.length > 0) return object(fields)
  const [values] = Object.values(patternProperties ?? {})
  const free = values ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)
  return `Record<string, ${free === undefined ? 'unknown' : type(free)}>`
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value.replaceAll(/['\\]/g, '\\$&')}'` : JSON.stringify(value)
}

if (process.argv[1] === import.meta.filename) {
  const { startTeal } = await import('#service')
  const teal = await startTeal({ api: { port: 0 } })
  const document = (await (await fetch(`${teal.url}/openapi.json`)).json()) as Document
  await teal.close()
  writeFileSync(join(import.meta.dirname, '../web/base/api.ts'), clientTypes(document))
}
