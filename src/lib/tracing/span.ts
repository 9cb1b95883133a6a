// What a span is, and how it crosses: the caller's `traceparent` (W3C Trace Context, level 1), and OTLP/HTTP in JSON to a collector.
//
// Attributes have the names of OpenTelemetry's semantic conventions where it has one, else `teal.` in front. Values are what the
// log may hold, too: never a token, a password, a path with somebody's ids, or a line of a message; nor addresses of mail.

import { limits } from '../limits.ts'

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

/** What the caller says its own span is. */
export interface Parent {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 of them. */
  readonly spanId: string
  readonly sampled: boolean
}

export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | undefined
  readonly name: string
  readonly kind: 'internal' | 'server' | 'client'
  /** Milliseconds since 1970. */
  readonly start: number
  readonly ms: number
  readonly attributes: Attributes
  /** It failed by our fault. */
  readonly failed: boolean
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Undefined for one that is none: a new trace begins then (3.2.2.4, 4.3). */
export function parseTraceparent(text: string): Parent | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = form.exec(text.trim()) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

const kinds = { internal: 1, server: 2, client: 3 } as const
const statusError = 2
const flagSampled = 1

/** A request to a collector, as text. */
export function exportText(spans: readonly Span[], resource: Attributes, version: string): string {
  const scope = { name: 'teal', version }
  return JSON.stringify({
    resourceSpans: [{ resource: { attributes: pairs(resource) }, scopeSpans: [{ scope, spans: spans.map(shown) }] }],
  })
}

function shown({ traceId, spanId, parentId, name, kind, start, ms, attributes, failed }: Span): object {
  return {
    ...{ traceId, spanId, ...(parentId !== undefined && { parentSpanId: parentId }), flags: flagSampled },
    ...{ name, kind: kinds[kind], startTimeUnixNano: nanoseconds(start), endTimeUnixNano: nanoseconds(start + ms) },
    attributes: pairs(attributes),
    status: failed ? { code: statusError } : {},
  }
}

/** 64 bits are text in this form (proto3's JSON). */
function nanoseconds(ms: number): string {
  return `${BigInt(Math.round(ms * 1000))}000`
}

function pairs(attributes: Attributes): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: typed(value) }],
  )
}

function typed(value: string | number | boolean): object {
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'string') return { stringValue: value.slice(0, limits.tracing.textLengthMax) }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
