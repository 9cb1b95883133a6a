// Whom one writes as: the account's addresses, each with a name and a signature of its own.
//
// A signature that somebody changed in a letter stays as it was changed.

import { signal } from '@preact/signals'
import { call, isAway, type Reply } from '../../base/client.ts'
import { keep, kept } from '../../base/kept.ts'
import { type Person, personText } from '../../base/names.ts'
import { owner } from '../../base/session.ts'
import { isStillUser, type Message, user } from '../store.ts'
import { safeHtml } from './rich/safe.ts'
import { htmlOf } from './rich/text.ts'

export type Identity = Reply<'GET /users/:user/addresses'>['results'][number]
export const identities = signal<readonly Identity[]>([])
let loadedFor = ''

export async function loadIdentities(): Promise<void> {
  const of = user()
  if (identities.value.length > 0 && loadedFor === of) return
  try {
    const { results } = await call('GET /users/:user/addresses', { params: { user: of } })
    if (!isStillUser(of)) return
    identities.value = results.filter(one => !one.address.includes('*'))
    loadedFor = of
    keep(of, 'identities', identities.value)
  } catch (error) {
    const known = await kept<Identity[]>(of, 'identities')
    if (!isAway(error) || known === undefined) throw error
    if (isStillUser(of)) identities.value = known
  }
}

export function mainIdentity(): Identity | undefined {
  return identities.value.find(one => one.main) ?? identities.value[0]
}

export function identityOf(address: string): Identity | undefined {
  return identities.value.find(one => one.address === address)
}

export function ownAddress(identity: Identity | undefined): string {
  return identity?.address ?? owner().address ?? ''
}

/** Whom a message came to: somebody it names, or where it was delivered. */
export function addressedIdentity({ to = [], cc = [], envelope }: Message): Identity | undefined {
  const named = [...to, ...cc].map(one => one.address)
  const delivered = (envelope.rcpt ?? []).map(one => one.value)
  const keys = [...named, ...delivered].map(address => address.toLowerCase().replace(/\+[^@]*@/, '@'))
  return identities.value.find(one => keys.includes(one.address.toLowerCase()))
}

/** The signature below plain letters, with the line above it. */
export function signatureText(identity: Identity | undefined): string {
  const text = (identity?.signature?.text ?? '').replace(/\r\n?/g, '\n')
  return text === '' ? '' : `\n\n-- \n${text.replace(/^-- \n/, '')}`
}

/** The signature below others: its own, or that of plain ones. */
export function signatureHtml(identity: Identity | undefined): string {
  const { html = '', text = '' } = identity?.signature ?? {}
  const inner = html.trim() === '' ? htmlOf(text.replace(/\r\n?/g, '\n').replace(/^-- \n/, '')) : html
  if (html.trim() === '' && text === '') return ''
  return safeHtml(`<div><br></div><div class="signature"><div>--&nbsp;</div>${inner}</div>`)
}

/** What was written, with the signature of another identity in the place of the one it has; unchanged where somebody changed that. */
export function withSignature(
  { text, html }: { readonly text: string; readonly html: string | null },
  before: Identity | undefined,
  now: Identity | undefined,
): { text: string; html: string | null } {
  if (html === null) return { text: swapped(text, signatureText(before), signatureText(now)), html }
  const { body } = new DOMParser().parseFromString(html, 'text/html')
  const old = body.querySelector('.signature')
  const next = new DOMParser().parseFromString(signatureHtml(now), 'text/html').body
  const fresh = next.querySelector('.signature')
  if (old === null) {
    if (fresh !== null && signatureText(before) === '') body.append(...next.childNodes)
  } else if (fresh === null) old.remove()
  else old.replaceWith(fresh)
  return { text, html: safeHtml(body.innerHTML) }
}

function swapped(text: string, old: string, now: string): string {
  if (old !== '') return text.includes(old) ? text.replace(old, () => now) : text
  return now === ''
    ? text
    : text.replace(/^([\s\S]*?)(\n\n(?=[^\n]*:\n>|-{10} )|$)/, (_, top: string, rest: string) => `${top}${now}${rest}`)
}

/** People for a field, with room for more. */
export function listed(people: readonly Person[]): string {
  return people.map(person => `${personText(person)}, `).join('')
}
