// Several contacts that are one person made one: everything that any of them has is kept, what can only be once is the first one's.
//
// The first is changed before the others go: where it breaks off nothing is lost, and it can be done again.

import { type CallInput, call } from '../base/client.ts'
import { type Contact, user } from './store.ts'

/** What is lower-cased the same is the same; the first stays. */
function distinct<T>(all: readonly T[], key: (one: T) => string): T[] {
  const seen = new Set<string>()
  return all.filter(one => {
    const known = key(one).toLowerCase()
    const isNew = !seen.has(known)
    seen.add(known)
    return isNew
  })
}

export async function merge(all: readonly Contact[]): Promise<void> {
  const [first, ...others] = all
  if (first === undefined || others.length === 0) return
  const firstOf = (name: 'given' | 'family' | 'nickname' | 'organization' | 'title' | 'birthday') =>
    all.map(one => one[name]).find(text => text !== '') ?? ''
  const body = {
    given: firstOf('given'),
    family: firstOf('family'),
    nickname: firstOf('nickname'),
    organization: firstOf('organization'),
    title: firstOf('title'),
    birthday: firstOf('birthday'),
    emails: distinct(
      all.flatMap(one => one.emails),
      one => one.value,
    ),
    phones: distinct(
      all.flatMap(one => one.phones),
      one => one.value.replace(/[\s()./-]/g, ''),
    ),
    addresses: distinct(
      all.flatMap(one => one.addresses),
      ({ street, city, code }) => `${street} ${city} ${code}`,
    ),
    note: distinct(
      all.map(one => one.note).filter(text => text !== ''),
      text => text,
    ).join('\n'),
    groups: distinct(
      all.flatMap(one => one.groups),
      name => name,
    ),
  }
  // Kinds of what was read are the service's own words.
  await call('PUT /users/:user/contacts/:contact', {
    params: { user: user(), contact: first.id },
    body: body as CallInput<'PUT /users/:user/contacts/:contact'>['body'],
  })
  for (const { id: contact } of others)
    await call('DELETE /users/:user/contacts/:contact', { params: { user: user(), contact } })
}
