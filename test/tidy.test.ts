// The style of the house as an ordinary test: every rule holds for every file, and every rule can fail.
//
// A rule that finds nothing in a file that breaks it would be worse than none, so each is first fed a small project that
// breaks it and the same project mended. Exemptions stand in one list with a reason and go when they are not needed.

import { describe, expect, test } from 'vitest'
import { coverageRules } from './tidy/coverage.ts'
import { type Exemption, exemptions } from './tidy/exemptions.ts'
import { layerRules } from './tidy/layers.ts'
import { makeProject, readProject } from './tidy/source.ts'
import { type Finding, functions, type Rule, styleRules } from './tidy/style.ts'

const rules: readonly Rule[] = [...layerRules, ...styleRules, ...coverageRules]
const project = readProject(new URL('..', import.meta.url).pathname)
const opening = '// What it is for.\n//\n// What it promises.\n\n'
const lines = (count: number) => 'a\n'.repeat(count)
/** Text with substitutions as a template has them, which a quoted text here may not hold. */
const filled = (text: string) => text.replaceAll('§', '$')
const own = "import '#lib/build-info.ts'"
const host = ['registry.npm', 'js.org'].join('')

/** Rule -> files that break it, and the same files mended. */
const breaches: Record<string, [broken: Record<string, string>, mended: Record<string, string>][]> = {
  layer: [
    [{ 'src/lib/a.ts': "import { b } from '#mail/b.ts'" }, { 'src/mail/b.ts': "import { a } from '#lib/a.ts'" }],
    [
      { 'src/http/a.ts': "import type { B } from '#imap/b.ts'" },
      { 'src/http/a.ts': "import { b } from '#actors/b.ts'" },
    ],
    [{ 'src/store/a.ts': "export * from '../http/b.ts'" }, { 'src/store/a.ts': "export * from './b.ts'" }],
    [{ 'src/new/a.ts': "import { b } from '#lib/b.ts'" }, { 'src/new/a.ts': "import { b } from './b.ts'" }],
    [
      { 'src/new/a.ts': "import '#core'", 'src/new/protocol.ts': '' },
      { 'src/new/a.ts': "import '#actors/b.ts'", 'src/new/protocol.ts': "import '#core'" },
    ],
    [{ 'src/listeners.ts': "import '#imap/server.ts'" }, { 'src/listeners.ts': "import '#protocols/new'" }],
    [{ 'src/pool.ts': "import '../workers/a.ts'" }, { 'src/pool.ts': "import '#lib/a.ts'" }],
    [
      { 'workers/a.ts': "import { open } from '#store/writer/writer.ts'" },
      { 'workers/a.ts': "import { type Reply } from '#store/writer/writer.ts'" },
    ],
    [
      { 'workers/a.ts': "import { open } from '#store/folder/cache.ts'" },
      { 'workers/a.ts': "import { find } from '#store/accounts/users.ts'" },
    ],
    [
      { 'actors/a.ts': "import { open } from '../src/core.ts'" },
      { 'src/service.ts': "import { open } from './core.ts'" },
    ],
    [{ 'actors/a.ts': "const b = await import('#smtp/b.ts')" }, { 'actors/a.ts': "const b = '#smtp/b.ts'" }],
  ],
  web: [
    [{ 'web/base/a.ts': "import '#lib/b.ts'" }, { 'web/base/a.tsx': "import 'preact/hooks'" }],
    [{ 'web/base/a.tsx': "import '../../src/lib/b.ts'" }, { 'web/base/a.ts': "import '../texts/b.ts'" }],
    [{ 'web/account/a.ts': "import '../mail/b.ts'" }, { 'web/account/a.ts': "import '../base/b.ts'\nimport './b.ts'" }],
    [{ 'web/base/a.ts': "import '../mail/b.ts'" }, { 'web/main.tsx': "import './mail/b.ts'" }],
  ],
  alias: [
    [{ 'src/store/a.ts': "import { b } from '../lib/b.ts'" }, { 'src/store/a.ts': "import { b } from '#lib/b.ts'" }],
    [{ 'actors/a.ts': "import { b } from '../src/lib/b.ts'" }, { 'actors/user/a.ts': "import { b } from '../b.ts'" }],
  ],
  door: [
    [
      { 'src/http/a.ts': "import uws from 'uWebSockets.js'" },
      { 'src/http/front/uws.ts': "import uws from 'uWebSockets.js'" },
    ],
    [
      { 'workers/a.ts': "import D from 'better-sqlite3'" },
      { 'src/store/engine/sqlite/handle.ts': "import D from 'better-sqlite3'" },
    ],
    [
      { 'src/imap/a.ts': "import type { Socket } from 'node:net'" },
      { 'src/net/a.ts': "import { Socket } from 'node:net'" },
    ],
  ],
  writer: [
    [
      { 'src/http/a.ts': "import { w } from '#store/writer/writer.ts'" },
      { 'actors/a.ts': "import { w } from '#store/writer/writer.ts'" },
    ],
    [
      { 'src/jobs/a.ts': "import type { W } from '#store/writer/writer.ts'" },
      { 'src/jobs/a.ts': "import type { W } from '#actors/kernel/job-writer.ts'" },
    ],
  ],
  'mail store': [
    [
      { 'src/imap/session.ts': "import type { UserHandle } from '#actors/kernel/system.ts'" },
      { 'src/imap/local-store.ts': "import type { UserHandle } from '#actors/kernel/system.ts'" },
    ],
    [
      { 'src/imap/command/a.ts': "import { Bodies } from '#store/bodies/bodies.ts'" },
      { 'src/imap/command/a.ts': "import type { Listed } from '#store/mailboxes/listing.ts'" },
    ],
  ],
  cycle: [
    [
      { 'src/lib/a.ts': "import { b } from './b.ts'", 'src/lib/b.ts': "import type { A } from './a.ts'" },
      {
        'src/lib/a.ts': "import { b } from './b.ts'",
        'src/lib/b.ts': "import { c } from '#lib/c.ts'",
        'src/lib/c.ts': '',
      },
    ],
    [
      {
        'src/lib/a.ts': "export * from './b.ts'\nimport './d.ts'",
        'src/lib/b.ts': "import './c.ts'",
        'src/lib/c.ts': "import '#lib/a.ts'",
        'src/lib/d.ts': '',
      },
      { 'src/lib/a.ts': "import './b.ts'\nimport './c.ts'", 'src/lib/b.ts': "import './c.ts'", 'src/lib/c.ts': '' },
    ],
  ],
  room: [
    [
      Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`src/lib/a${at}.ts`, ''])),
      Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`src/lib/${at % 2}/a${at}.ts`, ''])),
    ],
  ],
  sql: [
    [
      { 'src/http/a.ts': "read.one('SELECT num FROM mailbox WHERE id = ?')" },
      { 'src/http/a.ts': "'SELECT INBOX' + 'DELETE folder'", 'src/store/a.ts': "read.one('SELECT 1 FROM user')" },
    ],
    [
      { 'actors/a.ts': '`SELECT m.num, count(*) AS n FROM x`' },
      { 'src/imap/a.ts': "selecting('SELECT') // SELECT 1 FROM x" },
    ],
    [{ 'actors/a.ts': "'SELECT 1'" }, { 'workers/a.ts': "'SELECT 1'" }],
    [{ 'actors/a.ts': "'DELETE FROM a'" }, { 'actors/a.ts': "'DELETE from here'" }],
  ],
  engine: [
    [
      { 'src/store/a.ts': "'SELECT value FROM json_each(?)'" },
      { 'src/store/engine/sqlite/words.ts': "'SELECT value FROM json_each(?)'", 'src/store/a.ts': "'SELECT 1 FROM x'" },
    ],
    [
      { 'src/store/a.ts': "'UPDATE x SET a = max(a, ?)'" },
      { 'src/store/a.ts': '\'SELECT max(a) FROM x WHERE "user" = ?\'' },
    ],
    [{ 'src/store/a.ts': "'SELECT 1 FROM x WHERE user = ?'" }, { 'src/store/a.ts': "'the user is one = none'" }],
    [{ 'workers/a.ts': "handle.pragma('x = 1')" }, { 'workers/a.ts': "pragma('x = 1')", 'src/store/a.ts': "''" }],
  ],
  orphan: [
    [{ 'src/lib/a.ts': '' }, { 'src/lib/a.ts': '', 'src/main.ts': "import '#lib/a.ts'" }],
    [{ 'src/lib/a.ts': '', 'test/a.test.ts': "import '#lib/a.ts'" }, {}],
    [
      { 'bench/a.ts': '', 'bench/main.ts': "['./b/a.ts']" },
      { 'bench/a.ts': '', 'bench/main.ts': "['./a.ts']" },
    ],
    [{ 'bench/a.ts': '// Run it.' }, { 'bench/a.ts': '// `node bench/a.ts` prints.' }],
    [{ 'workers/a.ts': '' }, { 'workers/a.ts': '', 'src/main.ts': "new URL('../workers/a.ts', import.meta.url)" }],
    [
      {
        'workers/a.ts': '',
        'src/lib/build-info.ts': "type ThreadName = 'b'\nfunction threadFile() {}",
        'src/main.ts': own,
      },
      {
        'workers/a.ts': '',
        'src/lib/build-info.ts': "type ThreadName = 'a'\nfunction threadFile() {}",
        'src/main.ts': own,
      },
    ],
  ],
  name: [
    [{ 'src/lib/utils.ts': '' }, { 'src/lib/clock.ts': '' }],
    [{ 'src/lib/MyClock.ts': '' }, { 'src/lib/my-clock.ts': '' }],
    [{ 'src/common/clock.ts': '' }, { 'test/lib/clock.test.ts': '' }],
  ],
  opening: [
    [{ 'src/a.ts': `// One line.\n\n${lines(60)}` }, { 'src/a.ts': opening + lines(60), 'src/b.ts': '// One line.\n' }],
    [{ 'src/a.ts': 'let a' }, { 'src/a.ts': '// One line.\nlet a' }],
    [{ 'workers/a.ts': '// a\n'.repeat(9) }, { 'workers/a.ts': `#!/usr/bin/env node\n${opening}` }],
  ],
  'file length': [[{ 'src/a.ts': lines(401) }, { 'src/a.ts': lines(400), 'test/a.ts': lines(401) }]],
  'function length': [
    [{ 'src/a.ts': `function a() {\n${lines(60)}}` }, { 'src/a.ts': `function a() {\n${lines(58)}}\n${lines(60)}` }],
    [
      { 'src/a.ts': `class A {\n  async #b(c: { d: 1 }): Promise<void> {\n${lines(60)}}\n}` },
      { 'src/a.ts': lines(70) },
    ],
    [
      { 'src/http/api/a.ts': `function answer() {\n${lines(60)}}` },
      { 'src/http/api/a.ts': `function userEndpoints() {\n${lines(60)}}` },
    ],
    [{ 'src/a.ts': `const a = (b: C): D => {\n${lines(60)}}` }, { 'src/a.ts': `const a = {\n${lines(70)}}` }],
  ],
  clock: [
    [{ 'src/a.ts': 'Date.now()' }, { 'src/lib/clock.ts': 'Date.now()' }],
    [{ 'actors/a.ts': 'new Date()' }, { 'actors/a.ts': 'new Date(now())' }],
    [{ 'workers/a.ts': 'setTimeout(f, 1)' }, { 'test/a.ts': 'setTimeout(f, 1)' }],
    [{ 'src/a.ts': 'Math.random()' }, { 'src/a.ts': '// Math.random()' }],
    [{ 'src/a.ts': "import { randomBytes } from 'node:crypto'" }, { 'src/lib/id.ts': 'randomBytes(1)' }],
  ],
  environment: [[{ 'src/a.ts': 'process.env.HOME' }, { 'src/a.ts': "'process.env'", 'bench/a.ts': 'process.env' }]],
  console: [[{ 'test/a.ts': 'console.log(1)' }, { 'test/a.ts': "'console.log' // console.log" }]],
  any: [
    [{ 'src/a.ts': 'let a: any' }, { 'src/a.ts': "let a: unknown = 'any'" }],
    [{ 'src/a.ts': 'a as any' }, { 'src/a.ts': 'Promise.any(a) // as any' }],
    [{ 'src/a.ts': 'new Map<string, any>()' }, { 'src/a.ts': '({ any: 1 })' }],
  ],
  assertion: [
    [{ 'src/a.ts': 'a.b!.c' }, { 'src/a.ts': "a.b !== c && !d && a != b && '!'" }],
    [{ 'src/a.ts': 'a[0]!' }, { 'src/a.ts': '// Really!\n`Hello!`' }],
  ],
  'default export': [[{ 'src/a.ts': 'export default 1' }, { 'workers/a.ts': 'export default 1', 'src/a.ts': '' }]],
  'bare test': [
    [{ 'test/a.test.ts': "test.only('x')" }, { 'test/a.test.ts': "test('test.only(x)')" }],
    [{ 'test/a.test.ts': "describe.skip('x')" }, { 'test/a.test.ts': "test.each([1])('x')" }],
    [{ 'test/a.test.ts': "it.concurrent.todo('x')" }, { 'test/a.test.ts': "test.skipIf(windows)('x')" }],
  ],
  mock: [[{ 'test/a.test.ts': "vi.mock('#store/a.ts')" }, { 'test/a.test.ts': 'vi.fn()' }]],
  directive: [[{ 'src/a.ts': '// @ts-ignore' }, { 'src/a.ts': "'@ts-ignore'" }]],
  mark: [[{ 'src/a.ts': `// ${'TO'}${'DO'}: later` }, { 'src/a.ts': '// done' }]],
  place: [
    [{ 'README.md': `see ${['/wo', 'rk/'].join('')}main` }, { 'README.md': 'see src/main.ts' }],
    [{ 'src/a.ts': `// as the ${['foun', 'ders'].join('')} said` }, { 'src/a.ts': '// a session is found' }],
  ],
  registry: [
    [{ 'README.md': `get it from ${host}` }, { 'README.md': 'npm ci' }],
    [
      { 'package-lock.json': '"resolved":$"https://x/y.tgz"'.replace('$', ' ') },
      { 'package-lock.json': '"integrity": "sha512-x"' },
    ],
  ],
  fault: [
    [
      { 'src/lib/fault.ts': '  Gone: { status: 1 }', 'test/a.test.ts': "'Gone'" },
      { 'src/lib/fault.ts': '  Gone: { status: 1 }', 'test/a.test.ts': "'Gone'", 'src/a.ts': "new Fault('Gone')" },
    ],
    [{ 'src/lib/fault.ts': '  Gone: { status: 1 }', 'src/a.ts': "new Fault('Gone')" }, {}],
  ],
  limit: [
    [
      { 'src/lib/limits.ts': '  a: {\n    fooMax: 1,\n  }' },
      { 'src/lib/limits.ts': '  a: {\n    fooMax: 1,\n  }', 'src/a.ts': 'limits.a.fooMax' },
    ],
  ],
  setting: [
    [
      { 'src/config/keys.ts': "a: { b: flag(true, 'x') }" },
      { 'src/config/keys.ts': "a: { b: flag(true, 'x') }", 'src/a.ts': 'config.a.b' },
    ],
  ],
  write: [
    [
      { 'src/store/a.ts': "const b = defineWrite('a.b', () => {})", 'src/store/writer/writes.ts': "import '../c.ts'" },
      { 'src/store/a.ts': "const b = defineWrite('a.b', () => {})", 'src/store/writer/writes.ts': "import '../a.ts'" },
    ],
    [
      { 'actors/a.ts': "const b = defineWrite<{ c: 1 }>('a.b', () => {})" },
      { 'src/store/engine/write.ts': 'export function defineWrite<Row>() {}' },
    ],
    [
      { 'src/store/b/a.ts': 'const b = things.defineInsert()', 'src/store/writer/writes.ts': "'../b/a.ts'" },
      { 'src/store/b/a.ts': 'const b = things.defineInsert()', 'src/store/writer/writes.ts': "import '../b/a.ts'" },
    ],
  ],
  event: [
    [
      { 'actors/kernel/events.ts': "  'user.created': {}", 'actors/a.ts': "emit('user.created')" },
      {
        'actors/kernel/events.ts': "  'user.created': {}",
        'actors/a.ts': "emit('user.created')",
        'test/a.test.ts': "'user.created'",
      },
    ],
    [{ 'actors/kernel/events.ts': "  'user.created': {}", 'test/a.test.ts': "'user.created'" }, {}],
  ],
  command: [
    [
      { 'src/imap/command/a.ts': "{ name: 'NOOP' }", 'test/imap/a.test.ts': "'NOOPER'" },
      { 'src/imap/command/a.ts': "{ name: 'NOOP' }", 'test/imap/a.test.ts': "send('a NOOP')" },
    ],
    [
      { 'src/imap/command/a.ts': "selecting('SELECT')", 'test/imap/a.test.ts': "'is no SELECT here' // SELECT" },
      { 'src/imap/command/a.ts': "selecting('SELECT')", 'test/imap/a.test.ts': filled('send(`§{tag} SELECT x`)') },
    ],
    [
      { 'src/imap/command/a.ts': "{ name: 'APPEND' }", 'test/pop3/a.test.ts': "'APPEND x'" },
      { 'src/imap/command/a.ts': "{ name: 'APPEND' }", 'test/imap/a.test.ts': "'APPEND x'" },
    ],
    [
      { 'src/pop3/session.ts': '  LIST: { phase', 'test/imap/a.test.ts': "'LIST'" },
      { 'src/pop3/session.ts': '  LIST: { phase', 'test/pop3/a.test.ts': "'STAT\\r\\nLIST\\r\\n'" },
    ],
    [
      { 'actors/a.ts': 'export const a: UserCommand<B, C> = {', 'src/b.ts': "import { a } from '#actors/a.ts'" },
      { 'actors/a.ts': 'export const a: UserCommand<B, C> = {', 'src/b.ts': "import { a } from 'b'\nrun(a)" },
    ],
  ],
  endpoint: [
    [
      {
        'src/http/api/a.ts': "method: 'GET', path: '/users/:user/x'",
        'test/a.test.ts': filled('get(`/users/§{id}/xy`)'),
      },
      {
        'src/http/api/a.ts': "method: 'GET', path: '/users/:user/x'",
        'test/a.test.ts': filled('get(`/users/§{id}/x?limit=1`)'),
      },
    ],
    [
      {
        'src/http/api/a.ts': "method: 'POST', path: '/users/:user/x'",
        'test/http/api/a.test.ts': "import './world.ts'\nuser.call('POST', '/x')",
      },
      {
        'src/http/api/a.ts': "method: 'POST', path: '/users/:user/x'",
        'test/http/api/a.test.ts': "import { account } from './mail-world.ts'\nuser.call('POST', '/x')",
      },
    ],
    [
      { 'src/http/api/a.ts': "method: 'PUT', path: '/users'", 'test/a.test.ts': "api.post('/users', {})" },
      { 'src/http/api/a.ts': "method: 'PUT', path: '/users'", 'test/a.test.ts': "['PUT', '/users', {}]" },
    ],
  ],
}

describe('each rule can fail', () => {
  for (const rule of rules) {
    test(rule.name, () => {
      const cases = breaches[rule.name] ?? []
      expect(cases.length).toBeGreaterThan(0)
      for (const [broken, mended] of cases) {
        expect(rule.find(makeProject(broken)).findings, JSON.stringify(broken)).not.toEqual([])
        expect(rule.find(makeProject(mended)).findings, JSON.stringify(mended)).toEqual([])
      }
    })
  }

  test('every breach belongs to a rule', () => {
    expect(Object.keys(breaches).toSorted()).toEqual(rules.map(({ name }) => name).toSorted())
  })
})

describe('the scanner', () => {
  const code = (text: string) => makeProject({ 'src/a.ts': text }).get('src/a.ts')?.code

  test('blanks comments, quotes, templates and patterns, and nothing else', () => {
    expect(code("a // b\nc /* d\ne */ f 'g\\'h' i")).toBe("a     \nc     \n     f '    ' i")
    expect(code(filled('a`b§{c}d§{`e`}f`g'))).toBe(filled('a` §{c} §{` `} `g'))
    expect(code("a / b / c; d(/[/'] e/)")).toBe('a / b / c; d(/      /)')
    expect(code('return /a"b/.test(c)')).toBe('return /   /.test(c)')
    expect(code(filled('{ a: { b: `c§{ {d: 1}.d }e` } }'))).toBe(filled('{ a: { b: ` §{ {d: 1}.d } ` } }'))
  })

  test('sees every form of import', () => {
    const text = `import a from 'b'\nimport { type C } from "d"\nimport type { E } from 'f'\nexport * from 'g'\nimport 'h'
import {\n  type I,\n  j,\n} from 'k'\nawait import('l')\nconst from = 'm' // import n from 'o'`
    const imports = makeProject({ 'src/a.ts': text }).get('src/a.ts')?.imports ?? []
    expect(imports.map(({ specifier, typeOnly }) => specifier + (typeOnly ? '*' : ''))).toEqual([
      'b',
      'd*',
      'f*',
      'g',
      'h',
      'k',
      'l',
    ])
    expect(imports.map(({ line }) => line)).toEqual([1, 2, 3, 4, 5, 6, 10])
  })

  test('measures functions of every form', () => {
    const text = `function a(b = {}) {\n}\nconst c = async (d) => {\n\n}\nclass E {\n  get f() {\n    if (g) {\n    }\n  }
  static #h<I>(j: (k: L) => M): { n: O } {\n  }\n}\ncall(x, {\n})\nfunction p(): Q<{ r: S }> {\n}
function t(): U {\n}\nclass V {\n\n}\n`
    const source = makeProject({ 'src/a.ts': text }).get('src/a.ts')
    const found = source === undefined ? [] : functions(source)
    expect(found.map(({ name, lines }) => [name, lines])).toEqual([
      ['a', 2],
      ['c', 3],
      ['f', 4],
      ['#h', 2],
      ['p', 2],
      ['t', 2],
    ])
  })
})

describe('the project', () => {
  test('is read', () => {
    expect([...project.keys()]).toEqual(expect.arrayContaining(['README.md', 'package-lock.json', 'src/config.ts']))
  })

  for (const rule of rules) {
    test(rule.promise, async ({ annotate }) => {
      const { looked, findings } = rule.find(project)
      const kinds = Object.entries(looked)
      await annotate(`looked at ${kinds.map(([kind, count]) => `${count} ${kind}`).join(', ')}`)
      expect(kinds.length).toBeGreaterThan(0)
      expect(kinds.filter(([, count]) => count === 0)).toEqual([])
      const left = findings.filter(finding => !exemptions.some(each => exempts(each, rule, finding)))
      expect(left.map(({ path, line, detail }) => `${path}:${line} ${detail}`)).toEqual([])
    })
  }

  test('exemptions have a reason and are needed', () => {
    for (const exemption of exemptions) {
      expect(exemption.reason.length, exemption.path).toBeGreaterThan(10)
      const found = rules.find(({ name }) => name === exemption.rule)?.find(project).findings ?? []
      const here = found.filter(({ path }) => path === exemption.path)
      for (const detail of exemption.details ?? ['']) {
        const needed = here.some(finding => finding.detail.startsWith(detail))
        expect(needed, `${exemption.rule} in ${exemption.path}: ${detail}`).toBe(true)
      }
    }
  })
})

function exempts(exemption: Exemption, rule: Rule, finding: Finding): boolean {
  return (
    exemption.rule === rule.name &&
    exemption.path === finding.path &&
    (exemption.details ?? ['']).some(detail => finding.detail.startsWith(detail))
  )
}
