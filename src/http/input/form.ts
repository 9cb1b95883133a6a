// The three ways in which parameters arrive, JSON, urlencoded text and multipart forms, each into a plain tree.
//
// Everything here reads hostile bytes: nesting and number of keys are bounded, text must be UTF-8, and no key of the
// input ever reaches a prototype (trees have none, and JSON with a `__proto__` key is refused). A text that breaks the
// rules is a Fault InvalidContent; what the values mean is for validate.ts.

import { Buffer, isUtf8 } from 'node:buffer'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'

/** Keys with a text, bytes of a file part, a list, or a tree of the same. */
export type Tree = Record<string, unknown>

const refuse = (text: string, cause?: unknown) => new Fault('InvalidContent', { text, cause })

/** A JSON object out of a request body. Anything else at the top is refused, as is invalid UTF-8. */
export function parseJsonBody(body: Uint8Array): Tree {
  if (!isUtf8(body)) throw refuse('The body is not valid UTF-8')
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    .toString()
    .replace(/^\ufeff/, '')
  if (text.trim() === '') return {}
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refuse('The body must be a JSON object')
  }
  return value as Tree
}

/** Any JSON value within the bounds on nesting and keys. */
export function parseJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw refuse('The body is not valid JSON', error)
  }
  survey(value)
  return value
}

/** Refuses trees that are too deep, too wide, or carry a key that names a prototype. */
function survey(root: unknown): void {
  if (typeof root !== 'object' || root === null) return
  let level: object[] = [root]
  let values = 0
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > limits.http.nestingMax) throw refuse(`The content is nested more than ${limits.http.nestingMax} deep`)
    const below: object[] = []
    for (const node of level) {
      if (Object.hasOwn(node, '__proto__')) throw refuse('The key "__proto__" is not allowed')
      const children: unknown[] = Array.isArray(node) ? node : Object.values(node)
      values += children.length
      if (values > limits.http.valuesMax) throw refuse(`There are more than ${limits.http.valuesMax} values`)
      for (const child of children) if (typeof child === 'object' && child !== null) below.push(child)
    }
    level = below
  }
}

/** A query string: `a.b=1` and `a[b]=1` nest, a repeated key or `c[]=` makes a list. */
export function parseQuery(text: string): Tree {
  return parsePairs(text, true)
}

/** An urlencoded body: only brackets nest, a dot stays a dot. */
export function parseUrlencoded(body: Uint8Array): Tree {
  if (!isUtf8(body)) throw refuse('The body is not valid UTF-8')
  return parsePairs(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString(), false)
}

function parsePairs(text: string, dots: boolean): Tree {
  const root = new Node()
  let keys = 0
  for (const pair of text.split('&', limits.http.keysMax + 1)) {
    if (pair === '') continue
    keys += 1
    if (keys > limits.http.keysMax) throw refuse(`There are more than ${limits.http.keysMax} parameters`)
    const equals = pair.indexOf('=')
    const key = decode(equals === -1 ? pair : pair.slice(0, equals))
    insert(root, splitKey(key, dots), equals === -1 ? '' : decode(pair.slice(equals + 1)), key)
  }
  return root.tree()
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    throw refuse('A parameter is not valid percent-encoded UTF-8')
  }
}

/** The steps of `a[b][]`: a, b and '' for "one more". */
function splitKey(key: string, dots: boolean): string[] {
  if (!key.includes('[') && !(dots && key.includes('.'))) return [key]
  const open = key.indexOf('[')
  const head = open === -1 ? key : key.slice(0, open)
  const steps = dots ? head.split('.') : [head]
  if (open !== -1) {
    const inner = key.slice(open)
    if (head === '' || !/^(\[[^[\]]*\])+$/.test(inner)) return [key]
    for (const step of inner.slice(1, -1).split('][')) steps.push(step)
  }
  if (steps.includes('__proto__', 1)) throw refuse('The key "__proto__" is not allowed')
  if (steps.length > limits.http.nestingMax) throw refuse(`Keys are nested more than ${limits.http.nestingMax} deep`)
  return steps
}

/** A tree under construction, without a prototype for keys to fall into. */
class Node {
  readonly children = new Map<string, Node | unknown[]>()
  #next = 0

  /** The key of "one more" in a list. */
  next(): string {
    while (this.children.has(String(this.#next))) this.#next += 1
    return String(this.#next)
  }

  tree(): Tree {
    const result = Object.create(null) as Tree
    for (const [key, child] of this.children) result[key] = plain(child)
    return result
  }
}

function plain(child: Node | unknown[]): unknown {
  if (Array.isArray(child)) return child.length === 1 ? child[0] : child
  const keys = [...child.children.keys()]
  const isList = keys.every((key, index) => key === String(index))
  return isList ? [...child.children.values()].map(plain) : child.tree()
}

function insert(root: Node, steps: readonly string[], value: unknown, key: string): void {
  let node = root
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index] === '' && index > 0 ? node.next() : (steps[index] ?? '')
    const child = node.children.get(step)
    if (index === steps.length - 1) {
      if (child instanceof Node) throw clash(key)
      if (child === undefined) node.children.set(step, [value])
      else child.push(value)
      return
    }
    if (Array.isArray(child)) throw clash(key)
    const below = child ?? new Node()
    if (child === undefined) node.children.set(step, below)
    node = below
  }
}

function clash(key: string): Fault {
  return refuse(`The parameter "${key.slice(0, 64)}" is given both as a value and as a group`)
}

/** One part of a multipart form as it stands in the body. */
interface Part {
  readonly name: string
  readonly isFile: boolean
  readonly bytes: Buffer
}

/** A multipart form (RFC 7578): text parts as text, parts with a file name or a binary type as Buffer. */
export function parseMultipart(body: Buffer, contentType: string): Tree {
  const match = /;\s*boundary=(?:"([^"\r\n]{1,70})"|([^;\s"]{1,70}))/i.exec(contentType)
  const boundary = match?.[1] ?? match?.[2]
  if (boundary === undefined) throw refuse('The multipart boundary is missing')
  const root = new Node()
  for (const part of parts(body, boundary)) {
    if (!part.isFile && !isUtf8(part.bytes))
      throw refuse(`The form field "${part.name.slice(0, 64)}" is not valid UTF-8`)
    insert(root, splitKey(part.name, false), part.isFile ? part.bytes : part.bytes.toString(), part.name)
  }
  return root.tree()
}

function* parts(body: Buffer, boundary: string): Generator<Part> {
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  let count = 0
  // The first delimiter may stand at the very start, without the line break before it.
  let at = body.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2)) ? -2 : body.indexOf(delimiter)
  for (;;) {
    if (at === -1) throw refuse('The multipart body is not complete')
    const start = at + delimiter.length
    if (body[start] === 0x2d && body[start + 1] === 0x2d) return
    count += 1
    if (count > limits.http.keysMax) throw refuse(`There are more than ${limits.http.keysMax} form fields`)
    const line = body.indexOf('\r\n', start)
    const end = line === -1 ? -1 : body.indexOf(delimiter, line)
    if (end === -1) throw refuse('The multipart body is not complete')
    yield parsePart(body.subarray(line, end))
    at = end
  }
}

/** `bytes` begins with the line break that ends the delimiter's line. */
function parsePart(bytes: Buffer): Part {
  const blank = bytes.indexOf('\r\n\r\n')
  if (blank === -1 || blank > limits.http.headerBytesMax) throw refuse('A part of the multipart body has no header')
  const header = bytes.subarray(2, Math.max(blank, 2)).toString()
  const disposition = /^content-disposition:\s*form-data\b(.*)$/im.exec(header)?.[1] ?? ''
  const name = /;\s*name=(?:"((?:[^"\\\r\n]|\\.)*)"|([^;\s"]+))/i.exec(disposition)
  const key = name?.[1] ?? name?.[2]
  if (key === undefined) throw refuse('A part of the multipart body has no name')
  const type = /^content-type:\s*([^;\s]+)/im.exec(header)?.[1]?.toLowerCase() ?? 'text/plain'
  const isFile = /;\s*filename\*?=/i.test(disposition) || !/^(text\/|application\/json$)/.test(type)
  return { name: unescaped(key), isFile, bytes: bytes.subarray(blank + 4) }
}

/** Browsers write a quote as %22 and line breaks as %0D%0A in names (WHATWG HTML 4.10.21.8). */
function unescaped(name: string): string {
  return name.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n').replace(/\\(.)/g, '$1')
}

/** What makes parameters of a body of this type. Throws UnsupportedMediaType. */
export function bodyParser(type: string, line: string): (body: Buffer) => Tree {
  if (type === 'application/json' || type.endsWith('+json')) return parseJsonBody
  if (type === 'application/x-www-form-urlencoded') return parseUrlencoded
  if (type === 'multipart/form-data') return body => parseMultipart(body, line)
  return body => {
    if (body.length === 0) return {}
    throw new Fault('UnsupportedMediaType')
  }
}
