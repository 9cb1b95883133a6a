import { expect, it } from 'vitest'
import { Fault } from '#lib/fault.ts'
import * as path from '#mail/path.ts'
import { Chance } from './corpus.ts'

function refusal(text: string): string {
  try {
    path.checkPath(text)
  } catch (error) {
    if (error instanceof Fault && error.code === 'InputValidationError') return error.message
    throw error
  }
  return 'accepted'
}

it('gives paths back in the form they are stored in', () => {
  expect(path.checkPath('/a/b')).toBe('a/b')
  expect(path.checkPath('inBox')).toBe('INBOX')
  expect(path.checkPath('inbox/x')).toBe('INBOX/x')
  expect(path.checkPath('inboxes')).toBe('inboxes')
  expect(path.checkPath('a/inbox')).toBe('a/inbox')
  expect(path.checkPath('o\u0303')).toBe('õ')
})

it('refuses with the texts that clients compare', () => {
  expect(refusal('somepath/abc/')).toBe(
    '"path" with value "somepath/abc/" matches the inverted pattern: /\\/{2,}|\\/$/',
  )
  for (const text of ['//INBOX', 'a//b', '/', 'a/']) expect(refusal(text)).toContain('matches the inverted pattern')
  expect(refusal('')).toContain('empty')
  for (const text of ['a\0', 'a\r\nb', '\x7f', '\ud800']) expect(refusal(text)).toContain('not allowed')
  expect(refusal(Array(129).fill('a').join('/'))).toBe('The mailbox path cannot be more than 128 levels deep')
  expect(refusal('a'.repeat(513))).toBe('Any part of the mailbox path cannot be longer than 512 chars long')
  expect(refusal(Array(128).fill('a'.repeat(512)).join('/'))).toBe('accepted')
})

it('lists INBOX, what is in it, then subscribed ones by name', () => {
  const given = [
    ...path.defaultMailboxes().map(({ path }) => ({ path, subscribed: true })),
    { path: 'alpha', subscribed: false },
    { path: 'INBOX/b', subscribed: false },
    { path: 'INBOX/a', subscribed: true },
    { path: 'äpple', subscribed: true },
    { path: 'beta', subscribed: true },
    { path: 'Zed', subscribed: true },
  ]
  expect(given.sort(path.comparePaths).map(({ path }) => path)).toEqual([
    'INBOX',
    'INBOX/a',
    'INBOX/b',
    'äpple',
    'beta',
    'Drafts',
    'Junk',
    'Sent Mail',
    'Trash',
    'Zed',
    'alpha',
  ])
})

it('moves children along with a renamed path and nothing else', () => {
  expect(path.renamedPath('a/b/c', 'a/b', 'x')).toBe('x/c')
  expect(path.renamedPath('a/b', 'a/b', 'x/y')).toBe('x/y')
  expect(path.renamedPath('a/bc', 'a/b', 'x')).toBe('a/bc')
  expect(path.pathName('a/b')).toBe('b')
  expect(path.pathParent('a/b')).toBe('a')
  expect(path.pathParent('a')).toBe(null)
})

it('has five default mailboxes with distinct valid names in every language', () => {
  expect(path.defaultMailboxes('en_US').map(({ path }) => path)).toEqual([
    'INBOX',
    'Sent Mail',
    'Trash',
    'Drafts',
    'Junk',
  ])
  expect(path.defaultMailboxes('xx')).toEqual(path.defaultMailboxes())
  expect(path.defaultMailboxes('__proto__')).toEqual(path.defaultMailboxes())
  expect(path.defaultMailboxes('de', { junk: 'Müll' }).at(-1)).toEqual({ path: 'Müll', specialUse: '\\Junk' })
  for (const language of path.mailboxLanguages()) {
    const paths = path.defaultMailboxes(language).map(mailbox => path.checkPath(mailbox.path))
    expect(new Set(paths).size).toBe(5)
  }
})

it('speaks modified UTF-7', () => {
  for (const [name, encoded] of [
    ['台北', '&U,BTFw-'],
    ['~peter/mail/台北/日本語', '~peter/mail/&U,BTFw-/&ZeVnLIqe-'],
    ['a & b', 'a &- b'],
    ['😀', '&2D3eAA-'],
  ] as const) {
    expect(path.encodeUtf7(name)).toBe(encoded)
    expect(path.decodeUtf7(encoded)).toBe(name)
  }
  for (const bad of ['&', '&AGE-', '&Jjo', 'õ', '&2D0-', '&U,BTFw-&ZeVnLIqe-', '&*-', '\n']) {
    expect(path.decodeUtf7(bad), bad).toBe(null)
  }
})

const chance = new Chance()

it(`writes any name in UTF-7 and reads it back (seed ${chance.seed})`, () => {
  for (let round = 0; round < 300; round++) {
    const name = chance
      .bytes(chance.below(30))
      .toString('utf16le')
      .toWellFormed()
      .replace(/[\x00-\x1f\x7f]/g, '&')
    expect(path.decodeUtf7(path.encodeUtf7(name))).toBe(name)
  }
})
