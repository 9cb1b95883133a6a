import { describe, expect, it } from 'vitest'
import { limits } from '#lib/limits.ts'
import * as address from '#mail/address/address.ts'
import { parseAddresses } from '#mail/address/address-list.ts'
import { Header } from '#mail/header/header.ts'
import { Chance, corpus } from '../corpus.ts'

describe('lists of addresses', () => {
  it('are read in all their forms', () => {
    const one = (name: string, address: string) => [{ name, address }]
    for (const [written, read] of [
      ['Anna <anna@example.com>', one('Anna', 'anna@example.com')],
      ['a@b.c', one('', 'a@b.c')],
      ['"Doe, John" <j@d.e>, x@y.z (Comment)', [...one('Doe, John', 'j@d.e'), ...one('Comment', 'x@y.z')]],
      ['Doe, John <j@d.e>', one('Doe, John', 'j@d.e')],
      ['undisclosed-recipients:;', [{ name: 'undisclosed-recipients', group: [] }]],
      [
        'A Group:Ed <joe@w.t>,jdoe@w.t; z@z.z',
        [{ name: 'A Group', group: [...one('Ed', 'joe@w.t'), ...one('', 'jdoe@w.t')] }, ...one('', 'z@z.z')],
      ],
      ['=?utf-8?Q?Doe,_J=C3=B5hn?= <j@d.e>', one('Doe, Jõhn', 'j@d.e')],
      ['"=?utf-8?b?w7U=?=" <q@q.q>', one('õ', 'q@q.q')],
      ['Pete(A nice \\) chap) <pete(his account)@silly.test(his host)>', one('Pete', 'pete@silly.test')],
      [
        'Mary <@machine.tld:mary@e.net>, , j . "d e" . doe @ test   . example',
        [...one('Mary', 'mary@e.net'), ...one('', 'j."d e".doe@test.example')],
      ],
      ['John john@x.y', one('John', 'john@x.y')],
      ['<<a@b.c>>', one('', 'a@b.c')],
      ['Foo <a@b', one('Foo', 'a@b')],
      ['a@b; c@d', [...one('', 'a@b'), ...one('', 'c@d')]],
      ['mailto:x@y.z', one('', 'x@y.z')],
      ['user@[IPv6:::1]', one('', 'user@[IPv6:::1]')],
      ['"a b"@c.d', one('', '"a b"@c.d')],
      ['J <"a>b"@c.d>', one('J', '"a>b"@c.d')],
      ['me @ x.y', one('', 'me@x.y')],
      ['Foo', one('', 'Foo')],
      ['root (Charlie Root)', one('Charlie Root', 'root')],
      ['Undisclosed recipients', one('Undisclosed recipients', '')],
      ['(nobody at all)', []],
      ['unlisted-recipients:; (no To-header on input)', [{ name: 'unlisted-recipients', group: [] }]],
      ['õ <õ@xn--jgeva-dua.ee>', one('õ', 'õ@jõgeva.ee')],
      ['()', []],
      [' , ;, ', []],
      ['', []],
    ] as const) {
      expect(parseAddresses(written), written).toEqual(read)
    }
  })

  it('are left as written on request', () => {
    expect(parseAddresses('=?utf-8?Q?=C3=B5?= <a@xn--jgeva-dua.ee>', { decode: false })).toEqual([
      { name: '=?utf-8?Q?=C3=B5?=', address: 'a@xn--jgeva-dua.ee' },
    ])
  })

  it('stay within addressesMax', () => {
    expect(parseAddresses('a@b.c,'.repeat(limits.mime.addressesMax + 5)).length).toBe(limits.mime.addressesMax)
  })

  it('never fail and never hold a line end, over the corpus', () => {
    for (const { bytes } of corpus()) {
      const header = new Header(bytes)
      for (const field of header.fields) {
        for (const { name, address: text } of address.mailboxes(parseAddresses(header.value(field)))) {
          expect(name + text).not.toMatch(/[\r\n]/)
        }
      }
    }
  })

  const chance = new Chance()

  it(`come back from what is written of them (seed ${chance.seed})`, () => {
    for (let round = 0; round < 300; round++) {
      const list = Array.from({ length: 1 + chance.below(5) }, () => ({
        name: Array.from({ length: chance.below(8) }, () =>
          chance.pick(['a', 'B', ' x', ',', '"', '\\', '<', '@', ';', ':', '(', 'õ']),
        )
          .join('')
          .trim(),
        address: `${chance.pick(['a', 'b.c', 'õ', 'x+y', 'a-b'])}@${chance.pick(['b.c', 'example.com', 'x.õ'])}`,
      }))
      const written = list.map(({ name, address }) => `"${name.replace(/["\\]/g, '\\$&')}" <${address}>`).join(', ')
      expect(parseAddresses(written), `seed ${chance.seed}: ${written}`).toEqual(list)
    }
  })

  it(`are linear in rubbish (seed ${chance.seed})`, () => {
    // Would take hours if any of these were quadratic; the suite's time-out is the judge.
    for (const piece of [
      '<"',
      '<\\"',
      '@[',
      '[',
      '(',
      '"\\',
      '=?a?q?',
      ',',
      'a ',
      '<',
      'a:',
      'a@b:',
      '@',
      'a,',
      '.',
      ' .',
      '\\(',
    ]) {
      const text = piece.repeat(Math.floor(limits.mime.headerBytesMax / piece.length))
      expect(parseAddresses(text).length).toBeLessThanOrEqual(limits.mime.addressesMax)
      expect(parseAddresses(`${text}x@y.z`).length).toBeLessThanOrEqual(limits.mime.addressesMax)
    }
  })
})

describe('one address', () => {
  it('has a form to show and a key to compare', () => {
    expect(address.normalizeAddress('First.Last+tag@Example.COM')).toEqual({
      address: 'First.Last+tag@example.com',
      key: 'firstlast@example.com',
      local: 'First.Last',
      domain: 'example.com',
      label: 'tag',
    })
    expect(address.normalizeAddress(' õÄ.x@XN--JGEVA-DUA.ee ').key).toBe('õäx@jõgeva.ee')
    expect(address.normalizeAddress('o\u0303@b.c').address).toBe('õ@b.c')
    expect(address.normalizeAddress('+x@b.c').key).toBe('+x@b.c')
    expect(address.normalizeUsername('My.User')).toBe('myuser')
    expect(address.normalizeUsername('My.User+x@B.c')).toBe('myuser@b.c')
  })

  it('is valid with unicode and two labels', () => {
    for (const good of ['a@b.c', 'ö@ä.ee', 'a+b@c.de', "o'neil@x.yy", 'a_b-c@d-e.f', 'õ.x@jõgeva.öö', '用户@例え.jp']) {
      expect(address.isAddress(good), good).toBe(true)
    }
    for (const bad of [
      '',
      '@',
      'a',
      'a@b',
      'a..b@c.d',
      '.a@c.d',
      'a.@c.d',
      'a@-c.d',
      'a b@c.d',
      'a@c..d',
      '"a"@b.c',
      'a@b.c.',
      'a@b_c.d',
      'a\r\n@b.c',
      'a<b@c.d',
      'a@b@',
      `${'a'.repeat(65)}@b.c`,
      `a@${'b'.repeat(64)}.c`,
      `a@${'b.'.repeat(130)}c`,
      '\ud800@b.c',
    ]) {
      expect(address.isAddress(bad), bad).toBe(false)
    }
  })

  it('has a domain in two spellings', () => {
    expect(address.domainToAscii('Jõgeva.öö')).toBe('xn--jgeva-dua.xn--ndaa')
    expect(address.domainToUnicode('XN--JGEVA-DUA.xn--ndaa.')).toBe('jõgeva.öö')
    expect(address.domainToUnicode('xn--\u0000')).toBe('xn--\u0000')
    expect(address.domainToUnicode('Ｊõgeva.ＸＮ--ndaa')).toBe('jõgeva.öö')
    expect(address.domainToUnicode('１.２')).toBe('１.２')
    expect(address.domainToAscii('1.2')).toBe('1.2')
    expect(address.domainToAscii('１.２')).toBe('')
    expect(address.isDomain('jõgeva.öö')).toBe(true)
    for (const bad of ['localhost', '', 'a..b', 'a.b.', '*.a', 'a b.c']) expect(address.isDomain(bad), bad).toBe(false)
  })

  it('may be a username by its own rules', () => {
    for (const good of ['a', 'my-user', 'a.b_c=d:e', 'user@localhost', 'a.b@c.d', 'x'.repeat(128)]) {
      expect(address.isUsername(good), good).toBe(true)
    }
    for (const bad of ['', 'a..b', 'a+b', 'A', 'ömyuser2', '.a', 'a.', 'a@', '@a', 'a@b@c', 'a b', 'x'.repeat(129)]) {
      expect(address.isUsername(bad), bad).toBe(false)
    }
  })

  it('may be a wildcard in four forms', () => {
    expect(address.parseWildcard('*@a.b')).toEqual({ kind: 'any', text: '', domain: 'a.b' })
    expect(address.parseWildcard('*x@a.b')).toEqual({ kind: 'suffix', text: 'x', domain: 'a.b' })
    expect(address.parseWildcard('x*@a.b')).toEqual({ kind: 'prefix', text: 'x', domain: 'a.b' })
    expect(address.parseWildcard('u@*')).toEqual({ kind: 'everywhere', text: 'u', domain: '*' })
    for (const bad of [
      '*',
      'a@b.c',
      'a*b@c.d',
      '*@*',
      '**@a.b',
      `*${'x'.repeat(33)}@a.b`,
      '*@b',
      '*a b@c.d',
      'a+*@b.c',
    ]) {
      expect(address.parseWildcard(bad), bad).toBe(null)
    }
    expect(address.wildcardKeys('A.bc@x.y')).toEqual([
      '*abc@x.y',
      'abc*@x.y',
      '*bc@x.y',
      'ab*@x.y',
      '*c@x.y',
      'a*@x.y',
      '*@x.y',
      'abc@*',
    ])
    expect(address.wildcardKeys('a@x.y', 'z.w')).toEqual([
      '*a@x.y',
      'a*@x.y',
      '*@x.y',
      '*a@z.w',
      'a*@z.w',
      '*@z.w',
      'a@*',
    ])
  })

  it.each([
    ['*@xn--jgeva-dua.ee', '*@jõgeva.ee'],
    ['Ann <a@b.XN--JGEVA-DUA.ee>, c@d.example', 'Ann <a@b.jõgeva.ee>, c@d.example'],
    ['*.xn--jgeva-dua.ee', '*.jõgeva.ee'],
    ['xn--, xn--\u0000, nothing.example', 'xn--, xn--\u0000, nothing.example'],
  ])('domains within %j are shown in unicode', (text, shown) => {
    expect(address.domainsToUnicode(text)).toBe(shown)
  })
})
