// What is declared is used, and what can be answered is tested: faults, limits, settings, events, commands, endpoints.
//
// These rules read the declarations from the text of the files that hold them, so that they can be fed a snippet; a
// declaration counts as used where its name stands in another file's code or literals.

import { join } from 'node:path'
import { lineAt, type Project, type Source } from './source.ts'
import { type Finding, isProgram, type Look, look, type Rule } from './style.ts'

export const coverageRules: readonly Rule[] = [
  {
    name: 'fault',
    promise: 'every fault is raised somewhere and provoked by a test',
    find: project => {
      const codes = declared(project, 'src/lib/fault.ts', /^ {2}([A-Z]\w+): \{/gm)
      const raised = literalsOf(project, isProgram, 'src/lib/fault.ts')
      const tested = literalsOf(project, isTest)
      return look({ faults: codes }, code => [
        ...unused(code, raised, 'is raised nowhere'),
        ...unused(code, tested, 'is provoked by no test'),
      ])
    },
  },
  {
    name: 'limit',
    promise: 'every limit is enforced somewhere',
    find: project => {
      const names = declared(project, 'src/lib/limits.ts', /^ {4}(\w+):/gm)
      const text = codeOf(project, path => isProgram(path) && path !== 'src/lib/limits.ts')
      return named({ limits: names }, text, 'is enforced nowhere')
    },
  },
  {
    name: 'setting',
    promise: 'every configuration key is read somewhere',
    find: project => {
      const names = declared(
        project,
        'src/config/keys.ts',
        /\b(\w+): (?:flag|count|port|duration|size|choice|words|secret|path|hostname|address|socket|url|list)\(/g,
      )
      const text = codeOf(project, path => isProgram(path) && !path.startsWith('src/config'))
      return named({ settings: names }, text, 'is read nowhere')
    },
  },
  {
    name: 'write',
    promise: 'every write is known to the threads that find it by name',
    find: project => {
      const listed = new Set(project.get(writeList)?.imports.map(({ specifier }) => join(writeList, '..', specifier)))
      return look({ writes: writesOf(project) }, each => {
        return !listed.has(each.source.path) && finding(`is not known to ${writeList}`)(each)
      })
    },
  },
  {
    name: 'event',
    promise: 'every event is emitted somewhere and expected by a test',
    find: project => {
      const names = declared(project, 'actors/kernel/events.ts', /^ {2}'([a-z0-9.]+)':/gm)
      const emitted = literalsOf(project, isProgram, 'actors/kernel/events.ts')
      const tested = literalsOf(project, isTest)
      return look({ events: names }, name => [
        ...unused(name, emitted, 'is emitted nowhere'),
        ...unused(name, tested, 'is expected by no test'),
      ])
    },
  },
  {
    name: 'command',
    promise:
      'every command of IMAP and POP3 is sent by a test, and every command of an actor is run by a front or a job',
    find: project => {
      const imap = sent(project, 'test/imap/')
      const pop3 = sent(project, 'test/pop3/')
      const program = programCode(project)
      return look(
        {
          'IMAP commands': declaredBelow(project, 'src/imap/command/', /(?:\bname: |\bselecting\()'([A-Z]+)'/g),
          'POP3 commands': declared(project, 'src/pop3/session.ts', /^ {2}([A-Z0-9]{3,}): \{/gm),
          'actor commands': declaredBelow(project, 'actors/', /^(?:export )?const (\w+): \w*Command</gm),
        },
        (each, kind) => {
          if (kind === 'actor commands') return !runs(program, each) && finding('is run by nobody')(each)
          return !(kind === 'IMAP commands' ? imap : pop3)(each.name) && finding('is sent by no test')(each)
        },
      )
    },
  },
  {
    name: 'endpoint',
    promise: 'every endpoint is called by a test, and its path is listed once',
    find: project => {
      const lines = [...project.values()].filter(({ path }) => isTest(path)).flatMap(testLines)
      const all = [...project.values()].filter(({ path }) => path.startsWith('src/http/api/')).flatMap(endpoints)
      return look({ endpoints: all }, ({ source, at, method, route }) => {
        const name = `${method} ${route}`
        if (lines.some(line => callsEndpoint(line, method, route))) return false
        return finding('is called by no test')({ source, at, name })
      })
    },
  },
]

const writeList = 'src/store/writer/writes.ts'
/** What the two files that make writes offer for defining one. */
const writeMakers = ['src/store/engine/table.ts', 'src/store/engine/write.ts']

/** Writes by the constants that hold them. */
function writesOf(project: Project): Declaration[] {
  return [...project.values()]
    .filter(({ path }) => isProgram(path) && !writeMakers.includes(path))
    .flatMap(source => {
      const calls = source.code.matchAll(/\bdefineWrite\b\s*[(<]|\.define(?:Insert|Upsert|Update|Delete)\s*[(<]/g)
      return [...calls].map(({ index }) => ({ source, at: index, name: holder(source.code, index) }))
    })
}

/** The constant that what stands at `at` becomes. */
function holder(code: string, at: number): string {
  return [...code.slice(0, at).matchAll(/\bconst (\w+)/g)].at(-1)?.[1] ?? 'a write'
}

interface Declaration {
  readonly source: Source
  readonly at: number
  readonly name: string
}

/** Names that a file declares, found by the first group of `pattern` in its text (comments blanked by the caller). */
function declared(project: Project, path: string, pattern: RegExp): Declaration[] {
  const source = project.get(path)
  return source === undefined ? [] : matchAll(source, pattern)
}

/** As `declared`, in every file of a folder. */
function declaredBelow(project: Project, folder: string, pattern: RegExp): Declaration[] {
  return [...project.values()].filter(({ path }) => path.startsWith(folder)).flatMap(each => matchAll(each, pattern))
}

/** Tells whether tests of this folder send a command: a text or a line of one that begins with it, after a tag or UID. */
function sent(project: Project, folder: string): (name: string) => boolean {
  const texts = [...project.values()]
    .filter(({ path }) => path.startsWith(folder))
    .flatMap(({ literals }) => literals.flatMap(({ text }) => text.split(/\\r|\\n|\n/)))
  return name => {
    const form = new RegExp(`^[^ ]{0,9} ?(?:UID )?${name}(?![\\w-])`)
    return texts.some(text => form.test(text))
  }
}

/** Code of the service by path. */
function programCode(project: Project): ReadonlyMap<string, string> {
  return new Map([...project.values()].filter(({ path }) => isProgram(path)).map(({ path, code }) => [path, code]))
}

/** Whether the service names a command where it is not declared nor imported. */
function runs(program: ReadonlyMap<string, string>, { source, name }: Declaration): boolean {
  return [...program].some(([path, code]) => {
    const uses = [...code.replaceAll(/^import [^;]*?\bfrom\b/gm, '').matchAll(new RegExp(`\\b${name}\\b`, 'g'))]
    return uses.length > (path === source.path ? 1 : 0)
  })
}

function matchAll(source: Source, pattern: RegExp): Declaration[] {
  return [...source.text.matchAll(pattern)].map(match => ({ source, at: match.index, name: match[1] ?? '' }))
}

function endpoints(source: Source): { source: Source; at: number; method: string; route: string }[] {
  const heads = source.text.matchAll(/\bmethod: '([A-Z]+)',\s*path: '([^']+)'/g)
  return [...heads].map(match => ({ source, at: match.index, method: match[1] ?? '', route: match[2] ?? '' }))
}

interface TestLine {
  readonly text: string
  /** Paths in this line are below an account (test/http/api/mail-world.ts). */
  readonly below: boolean
}

function testLines({ path, text }: Source): TestLine[] {
  const world = path === 'test/http/api/mail-world.ts'
  const uses = text.includes("/mail-world.ts'")
  return text.split('\n').map(line => ({ text: line, below: world || (uses && /\w\.call\(/.test(line)) }))
}

/** Whether a line of a test names the method (GET where none is named) and a path of this form. */
function callsEndpoint({ text: line, below }: TestLine, method: string, route: string): boolean {
  const account = '/users/:user/'
  if (below && route.startsWith(account)) {
    const rest = route.slice(account.length - 1)
    if (callsEndpoint({ text: line, below: false }, method, rest)) return true
  }
  const form = route.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(/:\w+/g, '(\\$\\{[^}]*\\}|[^/\'"`?]+)')
  if (!new RegExp(`['"\`](\\$\\{[^}]*\\})?${form}(['"\`?]|\\$\\{)`).test(line)) return false
  const named =
    /\b(GET|POST|PUT|PATCH|DELETE|OPTIONS|HEAD)\b|\.(get|post|put|patch|delete)\(|\b(get|post|put|del|delete)\(/.exec(
      line,
    )
  const verb = (named?.[1] ?? named?.[2] ?? named?.[3] ?? 'GET').toUpperCase()
  return (verb === 'DEL' ? 'DELETE' : verb) === method
}

function unused(declaration: Declaration, used: ReadonlySet<string>, text: string): Finding[] {
  return used.has(declaration.name) ? [] : [finding(text)(declaration)]
}

/** Declarations whose names must stand in `used` as words. */
function named(things: Readonly<Record<string, Declaration[]>>, used: string, text: string): Look {
  return look(things, each => !new RegExp(`\\b${each.name}\\b`).test(used) && finding(text)(each))
}

function finding(text: string): (declaration: Declaration) => Finding {
  return ({ source, at, name }) => ({ path: source.path, line: lineAt(source, at), detail: `${name} ${text}` })
}

function literalsOf(project: Project, where: (path: string) => boolean, except?: string): Set<string> {
  const sources = [...project.values()].filter(({ path }) => where(path) && path !== except)
  return new Set(sources.flatMap(({ literals }) => literals.map(({ text }) => text)))
}

function codeOf(project: Project, where: (path: string) => boolean): string {
  return [...project.values()]
    .filter(({ path }) => where(path))
    .map(({ code }) => code)
    .join('\n')
}

function isTest(path: string): boolean {
  return path.startsWith('test/') && path.endsWith('.ts') && !path.startsWith('test/tidy')
}
