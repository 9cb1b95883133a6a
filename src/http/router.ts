// Finds what answers a path: exact segments before parameters, strict about slashes and case (api-semantics 1.1).
//
// Paths without parameters are one look-up; others walk a tree of segments. A parameter longer than its limit, an empty
// one, or one that is not valid percent-encoding makes the path unknown.

import { limits } from '#lib/limits.ts'
import { type ReplyCheck, replyCheck } from './document/conformity.ts'
import type { Endpoint } from './endpoint.ts'
import { Parameters } from './input/parameters.ts'
import type { RequestCounters, RouteCounters } from './request-counters.ts'

export interface Route<Target> {
  /** Template as first given to `add`. */
  readonly path: string
  readonly byMethod: Map<string, Target>
  /** Value of an Allow header. */
  allow: string
}

export interface Found<Target> {
  readonly route: Route<Target>
  /** Decoded values of the parameters, in order. */
  readonly values: readonly string[]
}

interface Node<Target> {
  readonly children: Map<string, Node<Target>>
  parameter: Node<Target> | null
  route: Route<Target> | null
  /** Characters of a segment that came here as a parameter. */
  lengthMax: number
}

/** A domain, also as the part of a page's place that names one: as long as its name may be. */
const domains: ReadonlySet<string> = new Set([':domain', ':item'])

const noValues: readonly string[] = []

export class Router<Target> {
  readonly #root: Node<Target> = newNode()
  readonly #plain = new Map<string, Found<Target>>()

  /** Throws where method and path are taken. Methods of one path may name its parameters differently. */
  add(method: string, path: string, target: Target): void {
    let plain = true
    let node = this.#root
    for (const segment of path.slice(1).split('/')) {
      if (segment.startsWith(':')) {
        plain = false
        node.parameter ??= newNode()
        node = node.parameter
        if (domains.has(segment)) node.lengthMax = limits.name.domainLengthMax
      } else {
        const child = node.children.get(segment) ?? newNode()
        node.children.set(segment, child)
        node = child
      }
    }
    const route = node.route ?? { path, byMethod: new Map<string, Target>(), allow: '' }
    if (route.byMethod.has(method)) throw new Error(`${method} ${path} is defined twice`)
    route.byMethod.set(method, target)
    route.allow = [...route.byMethod.keys()].join(', ')
    node.route = route
    if (plain) this.#plain.set(path, { route, values: noValues })
  }

  find(path: string): Found<Target> | null {
    const plain = this.#plain.get(path)
    if (plain !== undefined) return plain
    const segments = path.split('/', limits.http.segmentsMax + 2)
    if (segments.length > limits.http.segmentsMax + 1) return null
    const values: string[] = []
    const route = walk(this.#root, segments, 1, values)
    return route === null ? null : { route, values }
  }
}

function newNode<Target>(): Node<Target> {
  return { children: new Map(), parameter: null, route: null, lengthMax: limits.http.pathParameterLengthMax }
}

function walk<Target>(
  node: Node<Target>,
  segments: readonly string[],
  index: number,
  values: string[],
): Route<Target> | null {
  const segment = segments[index]
  if (segment === undefined) return node.route
  const child = node.children.get(segment)
  if (child !== undefined) {
    const route = walk(child, segments, index + 1, values)
    if (route !== null) return route
  }
  if (node.parameter === null || segment === '') return null
  const value = decodeSegment(segment, node.parameter.lengthMax)
  if (value === null) return null
  values.push(value)
  const route = walk(node.parameter, segments, index + 1, values)
  if (route === null) values.pop()
  return route
}

function decodeSegment(segment: string, lengthMax: number): string | null {
  let value = segment
  if (segment.includes('%')) {
    try {
      value = decodeURIComponent(segment)
    } catch {
      return null
    }
  }
  return value.length > lengthMax ? null : value
}

/** An endpoint with what was made of it. */
export interface Target {
  readonly endpoint: Endpoint
  readonly parameters: Parameters
  readonly route: string
  /** Index of `user` among the path's parameters, or -1. */
  readonly userIndex: number
  readonly addsSuccess: boolean
  readonly check: ReplyCheck | null
  readonly counters: RouteCounters
}

/** The routes of endpoints, with what is worked out of each definition once: most of what an exchange costs. */
export function routerOf({
  endpoints,
  strict,
  counters,
}: {
  readonly endpoints: () => readonly Endpoint[]
  readonly strict?: boolean
  readonly counters: RequestCounters
}): Router<Target> {
  const router = new Router<Target>()
  for (const endpoint of endpoints()) {
    const names = endpoint.path.split('/').flatMap(part => (part.startsWith(':') ? [part.slice(1)] : []))
    router.add(endpoint.method, endpoint.path, {
      endpoint,
      parameters: new Parameters(endpoint, names),
      route: endpoint.path,
      userIndex: names.indexOf('user'),
      addsSuccess: !('success' in endpoint.reply),
      check: strict === true ? replyCheck(endpoint) : null,
      counters: counters.of(endpoint.method, endpoint.path),
    })
  }
  return router
}
