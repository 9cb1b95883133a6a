// The package as those get it who have Teal in their tests: what it weighs, what it brings along, and that it runs in every
// runner on every Node, also where a test forgets to close.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { buildDist, isStale } from '../../deploy/bundle.ts'
import { freePort } from '../free-port.ts'
import { bytesOf, Project, type Release, releases, run } from './project.ts'
import { compilerOptions, samples } from './samples.ts'

const mb = 1e6

/** Milliseconds that a part of a start may take, whatever else the machine does. */
const startMsMax = 10_000
let project: Project

beforeAll(async () => {
  if (isStale()) await buildDist()
  project = await Project.install()
})
afterAll(() => project?.remove())

describe('in an empty folder', () => {
  test('it brings little along, and no command but its own', async () => {
    const modules = join(project.folder, 'node_modules')
    const packages = readdirSync(modules, { recursive: true }).filter(name =>
      /^((@[^/]+\/)?[^/@.]+)\/package\.json$/.test(String(name)),
    )
    const size = bytesOf(modules)
    process.stdout.write(`package: ${packages.length} packages, ${(size / mb).toFixed(1)} MB installed, `)
    process.stdout.write(`tarball ${(tarballBytes() / mb).toFixed(1)} MB\n`)
    expect(packages.length).toBeLessThanOrEqual(30)
    expect(size).toBeLessThanOrEqual(65 * mb)
    expect(tarballBytes()).toBeLessThanOrEqual(8 * mb)
    expect(readdirSync(join(modules, '.bin'))).toEqual(['teal'])
  })

  test('it has no script, and nothing of this machine', () => {
    const manifest = JSON.parse(project.read('package.json'))
    expect(manifest.scripts).toBeUndefined()
    expect(Object.keys(manifest.dependencies)).toEqual(['better-sqlite3'])
    expect(project.read('library.cjs')).not.toContain(process.cwd())
  })

  test('it says whose work is in it', () => {
    const notices = project.read('NOTICES.txt')
    for (const name of ['undici', 'pino', 'openpgp', 'mailauth', 'msgpackr', 'lmdb', 'argon2', 'better-sqlite3'])
      expect(notices).toMatch(new RegExp(`^${name} \\d`, 'm'))
    expect(notices).toContain('Permission is hereby granted')
    expect(notices).toMatch(/^caniemail\.com: .*\n\nMIT License\n\nCopyright \(c\) 2019 HTeuMeuLeu$/m)
    expect(project.read('LICENSE')).toContain('MIT')
  })

  test('links in its documents lead to what is in it', () => {
    const place = join(project.folder, 'node_modules/teal')
    const documents = readdirSync(place, { recursive: true })
      .map(String)
      .filter(name => name.endsWith('.md'))
    const links = documents.flatMap(document =>
      [...project.read(document).matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)].map(
        ([, link = '']) => [document, link] as const,
      ),
    )
    expect(links.map(([document]) => document)).toEqual(expect.arrayContaining(['README.md', 'docs/owner.md']))
    const dead = links.filter(([document, link]) => !existsSync(join(place, document, '..', link)))
    expect(dead).toEqual([])
    expect(project.read('deploy/teal.service')).toContain('ExecStart=')
  })

  test('it installs again from the cache alone', async () => {
    const again = await project.installAgain()
    expect(readdirSync(join(again, 'node_modules/.bin'))).toEqual(['teal'])
  })

  test('the command works like the executable', async () => {
    const dataDir = join(project.temporary, 'data')
    const file = join(project.folder, 'node_modules/.bin/teal')
    const ports = ['API', 'SMTP', 'LMTP', 'SUBMISSION', 'SUBMISSIONS', 'IMAP', 'IMAPS', 'POP3', 'POP3S']
    const env = {
      PATH: `${join(process.execPath, '..')}:${process.env.PATH}`,
      TEAL_DATA_DIR: dataDir,
      ...Object.fromEntries(ports.map(name => [`TEAL_${name}_PORT`, '0'])),
    }
    const teal = (...words: string[]) => run(file, words, project.folder, env)
    const serving = spawn(file, ['serve'], { cwd: project.folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void serving.kill('SIGKILL'))
    const ended = once(serving, 'exit')
    let said = ''
    for await (const chunk of serving.stdout) {
      said += chunk
      if (said.includes('"ready"')) break
    }
    expect(said).toContain('"front":"node:http"')
    const secret = join(project.temporary, 'secret')
    const backup = join(project.temporary, 'backup')
    writeFileSync(secret, 'correct horse')
    expect(await teal('user', 'add', 'anna', '--address', 'anna@example.com', '--password-file', secret)).toEqual(
      expect.objectContaining({ code: 0 }),
    )
    expect(await teal('backup', backup)).toMatchObject({ code: 0 })
    serving.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
    expect(await teal('verify', '--backup', backup)).toMatchObject({ code: 0 })
    expect(await teal('user', 'list')).toMatchObject({ code: 0, out: expect.stringContaining('anna') })
    expect(await teal('no-such-command')).toMatchObject({ code: 2 })
  })

  test('teal dev runs from it and leaves nothing', async () => {
    const before = readdirSync(project.temporary)
    const file = join(project.folder, 'node_modules/.bin/teal')
    const ports = ['SMTP', 'HTTP', 'IMAP', 'POP3'].map(name => [`TEAL_DEV_${name}_PORT`, '0'])
    const env = {
      PATH: `${join(process.execPath, '..')}:${process.env.PATH}`,
      TMPDIR: project.temporary,
      ...Object.fromEntries(ports),
    }
    const running = spawn(file, ['dev'], { cwd: project.folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void running.kill('SIGKILL'))
    const ended = once(running, 'exit')
    let said = ''
    for await (const chunk of running.stdout) {
      said += chunk
      if (said.includes('spring ')) break
    }
    const [, url = ''] = /page, API +(http:\S+)/.exec(said) ?? []
    const [, script = ''] = /<script type="module" src="(\S+)">/.exec(await (await fetch(url)).text()) ?? []
    expect((await fetch(new URL(script, url))).headers.get('content-type')).toContain('javascript')
    const mail = { to: 'anna@example.com', subject: 'Packed', text: 'x' }
    await fetch(`${url}/dev/v1/mails`, { method: 'POST', body: JSON.stringify(mail) })
    const got = await (await fetch(`${url}/dev/v1/wait?inbox=anna@example.com`)).json()
    expect(got).toMatchObject({ subject: 'Packed' })
    running.kill('SIGINT')
    expect(await ended).toEqual([0, null])
    expect(readdirSync(project.temporary)).toEqual(before)
  })
})

describe('the action for GitHub', () => {
  test('its step starts teal dev from a tarball, and says why it could not', async () => {
    const text = readFileSync('deploy/action/action.yml', 'utf8')
    const [, block = ''] = /^ {6}run: \|\n([\s\S]*)$/m.exec(text) ?? []
    const script = block.replaceAll(/^ {8}/gm, '')
    expect(script).toContain('npm install')
    // No registry has the package.
    expect(text).toMatch(/^ {2}package:\n {4}description: .*\n {4}required: true$/m)
    const inputs = [
      ...text.matchAll(/^ {2}([a-z0-9-]+):\n {4}description: .*\n {4}(?:default|required): "?([^"\n]+)"?$/gm),
    ]
    const given: Record<string, string> = { package: project.tarball, 'imap-port': 'off', 'pop3-port': 'off' }
    for (const name of ['smtp-port', 'http-port']) given[name] = String(await freePort())
    const env = Object.fromEntries(
      [...text.matchAll(/^ {8}(TEAL_[A-Z0-9_]+): \$\{\{ inputs\.([a-z0-9-]+) \}\}$/gm)].map(
        ([, name = '', input = '']) => {
          expect(inputs.map(([, known]) => known)).toContain(input)
          return [name, given[input] ?? '']
        },
      ),
    )
    expect(Object.keys(env)).toHaveLength(inputs.length)
    const PATH = `${join(process.execPath, '..')}:${process.env.PATH}`
    const act = (more: Record<string, string> = {}) =>
      run('bash', ['-e', '-c', `trap 'echo "pid $!"' EXIT\n${script}`], project.temporary, {
        ...{ ...env, ...more, PATH, HOME: process.env.HOME, RUNNER_TEMP: project.temporary, TMPDIR: project.temporary },
      })
    const { code, out } = await act()
    const pid = Number(/^pid (\d+)$/m.exec(out)?.[1])
    try {
      expect([code, out]).toEqual([0, expect.stringContaining(`SMTP       127.0.0.1:${given['smtp-port']}`)])
      const [, url = ''] = /value: (http:\S+)\$/.exec(text) ?? []
      expect((await fetch(`${url}${given['http-port']}/readyz`)).status).toBe(200)
      const again = await act()
      expect([again.code, again.out]).toEqual([1, expect.stringContaining('Is teal dev running already?')])
    } finally {
      process.kill(pid, 'SIGTERM')
    }
  })
})

describe('in the tests of others', () => {
  beforeAll(async () => {
    await project.installTools()
    for (const [name, text] of Object.entries(samples)) project.write(name, text)
    const [, lines = ''] = /```ts\n([^`]*startTeal[^`]*)```/.exec(project.read('README.md')) ?? []
    expect(lines).toContain('await teal.close()')
    project.write('readme/lines.mjs', lines)
    project.write('types/lines.mts', lines)
    for (const [at, code] of embedding.entries()) project.write(`embedding/${at}.mjs`, code)
    for (const [name, text] of examples()) project.write(`docs/${name}`, text)
  })

  const embedding = [...readFileSync('docs/embedding.md', 'utf8').matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(
    ([, code = '']) => code,
  )
  const left = () => readdirSync(project.temporary).filter(name => name.startsWith('teal-run-'))

  /**
   * @param kills how many services the runner may end without letting their process end: their folders stay until the next start,
   * which finds those of the run before
   */
  const passes = async (release: Release, words: readonly string[], kills = 0, more: NodeJS.ProcessEnv = {}) => {
    const before = left()
    // As old as those whose owner may be asked for.
    const then = new Date(now() - 2 * limits.process.temporaryGraceMs)
    for (const name of before.flatMap(name => [name, `${name}/lock`])) {
      const path = join(project.temporary, name)
      // One that was ended while it went has no lock any more.
      if (existsSync(path)) utimesSync(path, then, then)
    }
    expect(await project.node(release, words, more)).toMatchObject({ code: 0 })
    expect(left().filter(name => before.includes(name))).toEqual([])
    expect(left().length).toBeLessThanOrEqual(kills)
  }
  const modules = { NODE_OPTIONS: '--experimental-vm-modules --no-warnings' }
  const jest = (test: string) => ['node_modules/jest/bin/jest.js', '--config', 'jest/jest.config.json', '-i', test]
  const vitest = (test: string) => [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--root',
    'vitest',
    '--testTimeout=60000',
    test,
  ]

  describe.each(releases)('Node %s', release => {
    test('the lines of the README', () => passes(release, ['readme/lines.mjs']))
    test('the examples of docs/embedding.md', async () => {
      expect(embedding.length).toBeGreaterThanOrEqual(4)
      for (const at of embedding.keys()) await passes(release, [`embedding/${at}.mjs`])
    })
    test('node:test', () => passes(release, ['--test', 'plain.test.mjs', 'plain.test.cjs', 'unclosed.test.mjs']))
    test('vitest, in processes', () => passes(release, [...vitest('test'), '--pool=forks'], 1))
    test('vitest, in threads', () => passes(release, [...vitest('test'), '--pool=threads'], 1))
    test('jest, CommonJS', () => passes(release, jest('cjs'), 1))
    test('jest, modules', () => passes(release, jest('module.test.mjs'), 0, modules))
    test('the runner of Playwright', () =>
      passes(release, ['node_modules/@playwright/test/cli.js', 'test', '-c', 'playwright']))
    test('a test of Playwright that fails has its mail attached', async () => {
      const words = ['node_modules/@playwright/test/cli.js', 'test', '-c', 'failing', '--reporter=json']
      const { code, out } = await project.node(release, words)
      expect([code, out]).toEqual([
        1,
        expect.stringMatching(/"name": "Welcome\.eml",\s*"contentType": "message\/rfc822"/),
      ])
      expect(out).toContain('"name": "Welcome.html"')
    })
    describe('the examples of the page about testing', () => {
      test('node:test', () => passes(release, ['--test', 'docs/registration.test.mjs', 'docs/recipes.test.mjs']))
      test('vitest', () =>
        passes(release, ['node_modules/vitest/vitest.mjs', 'run', '--root', 'docs', 'registration.vitest']))
      test('jest', () =>
        passes(release, ['node_modules/jest/bin/jest.js', '--config', 'docs/jest.config.cjs', 'registration.jest'], 1))
      test('Playwright', () =>
        passes(release, ['node_modules/@playwright/test/cli.js', 'test', '-c', 'docs/playwright.config.mjs']))
    })
    test('every entry exports the same to import and require', async () => {
      const names = Object.keys(JSON.parse(project.read('package.json')).exports).filter(
        name => !name.endsWith('.json'),
      )
      for (const name of names.map(name => join('teal', name))) {
        const program = `
          const required = Object.keys(require('${name}')).sort().join()
          import('${name}').then(imported => console.log(required !== '' && required === Object.keys(imported).sort().join()))`
        expect(await project.node(release, ['-e', program])).toMatchObject({ code: 0, out: 'true\n' })
      }
    })
    test('hashes of argon2 without the library', async () => {
      const vectors = JSON.parse(readFileSync('test/lib/secret/vectors.json', 'utf8')) as Record<string, string>[]
      const own = vectors.filter(({ stored }) => /^\$argon2(id|i|d)\$v=19\$/.test(stored ?? ''))
      expect(own.length).toBeGreaterThan(2)
      const program = `import { verifyWithEngine } from ${JSON.stringify(join(process.cwd(), 'src/lib/secret/argon2.ts'))}
        for (const { password, stored } of ${JSON.stringify(own)}) {
          const verify = text => { try { return verifyWithEngine(stored, text) } catch (error) { return error.message } }
          console.log(verify(Buffer.from(password, 'hex')), verify(Buffer.from('another')))
        }`
      const { code, out } = await project.node(release, ['--no-warnings', '--input-type=module', '-e', program])
      const says = release === '22' ? /cannot be verified on \S+ \S+ with Node before 24\.7/ : /^true false$/
      expect([code, out.trim().split('\n')]).toEqual([0, own.map(() => expect.stringMatching(says))])
    })
    test('the time of a start', async () => {
      const program = `import { startTeal } from 'teal'
        const first = performance.now()
        await (await startTeal()).close()
        const again = performance.now()
        const teal = await startTeal()
        const up = performance.now()
        await teal.close()
        console.log([first, again - first, up - again, performance.now() - up].map(Math.round).join(' '))`
      project.write('start.mjs', program)
      const { code, out } = await project.node(release, ['start.mjs'])
      const [load, first, again, close] = out.trim().split(' ')
      process.stdout.write(
        `Node ${release}: loaded after ${load} ms, first start and close ${first} ms, again ${again} ms, close ${close} ms\n`,
      )
      expect([code, close]).toEqual([0, expect.stringMatching(/^\d+$/)])
      // Far above what it takes on a machine that does other things too: somebody who makes it ten times slower is to notice.
      for (const ms of [load, first, again, close]) expect(Number(ms)).toBeLessThanOrEqual(startMsMax)
    })
  })

  test.each(['typescript55/lib/tsc.js', 'typescript/bin/tsc'])('types hold for %s', async compiler => {
    for (const [module, moduleResolution] of [
      ['nodenext', 'nodenext'],
      ['esnext', 'bundler'],
    ]) {
      const files =
        moduleResolution === 'bundler'
          ? ['module.mts', 'testing.mts', 'matchers.mts', 'lines.mts']
          : ['module.mts', 'testing.mts', 'matchers.mts', 'common.cts', 'lines.mts']
      project.write(
        'types/tsconfig.json',
        JSON.stringify({ compilerOptions: { ...compilerOptions, module, moduleResolution }, files }),
      )
      expect(await project.node('22', [`node_modules/${compiler}`, '-p', 'types'])).toEqual({ code: 0, out: '' })
    }
  })
})

/** Files of the page about testing, by the name in their first line. */
function examples(): [name: string, text: string][] {
  const page = readFileSync('docs/testing.md', 'utf8')
  const found = [...page.matchAll(/^```js\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)]
  expect(found.length).toBe([...page.matchAll(/^```js$/gm)].length)
  return found.map(([, name = '', text = '']) => [name, text])
}

function tarballBytes(): number {
  return statSync(project.tarball).size
}
