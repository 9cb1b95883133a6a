// Calls of the REST below /dev/v1, and what they answer with. A refusal is thrown as `Refusal`, as everywhere on the page.
//
// These shapes are written down in docs/dev.md; whatever the page can do, a script can.

import { Refusal } from '../base/client.ts'

export interface Person {
  readonly name: string
  readonly address: string
}

/** A line of the list. */
export interface Line {
  readonly id: string
  readonly arrived: number
  readonly size: number
  readonly envelope: { readonly from: string; readonly to: readonly string[] }
  readonly from: Person | null
  readonly subject: string
  readonly snippet: string
  readonly attachments: number
  readonly read: boolean
  readonly tags: readonly string[]
  /** Points that filters may hold against it. */
  readonly spam: number
}

export interface Lines {
  readonly total: number
  readonly unread: number
  readonly found: number
  readonly start: number
  /** Where the mail is that was asked for; -1: nowhere in this list, null: it is gone. */
  readonly place?: number | null
  readonly tags: readonly { readonly name: string; readonly count: number }[]
  readonly lines: readonly Line[]
}

export interface Attachment {
  readonly filename: string
  readonly contentType: string
  readonly size: number
  readonly inline: boolean
  readonly url: string
}

type Verdict = string | false | null

export interface Mail extends Omit<Line, 'attachments' | 'snippet' | 'spam'> {
  readonly to: readonly Person[]
  readonly cc: readonly Person[]
  readonly replyTo: readonly Person[]
  readonly code: string | null
  readonly text: string
  readonly html: string
  readonly links: readonly string[]
  readonly headers: Readonly<Record<string, readonly string[]>>
  readonly attachments: readonly Attachment[]
  readonly raw: string
  readonly spf: Verdict
  readonly dkim: Verdict
  readonly dmarc: Verdict
  readonly session: {
    readonly protocol: string
    readonly helo: string
    readonly login: string | null
    readonly tls: { readonly protocol: string; readonly cipher: string } | null
  } | null
}

export interface Check {
  readonly name: string
  readonly ok: boolean | null
  readonly info: string
}

type Support = 'shown' | 'partly' | 'not' | 'unknown'

export interface Feature {
  readonly slug: string
  readonly title: string
  readonly url: string
  readonly count: number
  readonly support: Readonly<Record<string, Support>>
}

export interface Compatibility {
  readonly programs: readonly string[]
  readonly features: readonly Feature[]
}

export interface SpamScore {
  readonly points: number
  readonly junkFrom: number
  readonly parts: readonly { readonly name: string; readonly points: number; readonly info: string }[]
}

export interface LinkCheck {
  readonly url: string
  readonly ok: boolean
  readonly status: number
  readonly info: string
}

export interface Rule {
  readonly id: string
  readonly rule: Readonly<Record<string, unknown>>
  readonly hits: number
}

export interface Info {
  readonly version: string
  readonly ports: Readonly<Record<string, number | undefined>>
  readonly release: { readonly server: string; readonly to: readonly string[] } | null
}

export const base = '/dev/v1'

/** @throws Refusal */
export async function ask<T>(method: string, path: string, body?: object): Promise<T> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }
  const answer = await fetch(base + path, { method, ...sent }).catch(() => {
    throw new Refusal(0, 'Unreachable', 'The service does not answer')
  })
  if (answer.ok) return (await answer.json()) as T
  const { code = 'InternalError', message = answer.statusText } = await answer.json().catch(() => ({}))
  throw new Refusal(answer.status, code, message)
}
