// What is declared is used, and what can be answered is tested: faults, limits, settings, events, commands, endpoints.
//
// These rules read the declarations from the text of the files that hold them, so that they can be fed a snippet; a
// declaration counts as used where its name stands in another file's code or literals.

import { lineAt, type Project, type Source } from './source.ts'
import { type Finding, isProgram, type Rule } from './style.ts'

export const coverageRules: readonly Rule[] = [
  {
    name: 'fault',
    promise: 'every fault is raised somewhere and provoked by a test',
    find: project => {
      const codes = declared(project, 'src/lib/fault.ts', /^ {2}([A-Z]\w+): \{/gm)
      return [
        ...unused(codes, literalsOf(project, isProgram, 'src/lib/fault.ts'), 'is raised nowhere'),
        ...unused(codes, literalsOf(project, isTest), 'is provoked by no test'),
      ]
    },
  },
  {
    name: 'limit',
    promise: 'every limit is enforced somewhere',
    find: project => {
      const names = declared(project, 'src/lib/limits.ts', /^ {4}(\w+):/gm)
      const text = codeOf(project, path => isProgram(path) && path !== 'src/lib/limits.ts')
      return names.filter(({ name }) => !new RegExp(`\\b${name}\\b`).test(text)).map(finding('is enforced nowhere'))
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
      return names.filter(({ name }) => !new RegExp(`\\b${name}\\b`).test(text)).map(finding('is read nowhere'))
    },
  },
  {
    name: 'event',
    promise: 'every event is emitted somewhere and expected by a test',
    find: project => {
      const names = declared(project, 'actors/kernel/events.ts', /^ {2}'([a-z0-9.]+)':/gm)
      return [
        ...unused(names, literalsOf(project, isProgram, 'actors/kernel/events.ts'), 'is emitted nowhere'),
        ...unused(names, literalsOf(project, isTest), 'is expected by no test'),
      ]
    },
  },
  {
    name: 'command',
    promise: 'every command of a user, of IMAP and of POP3 is run by a test',
    find: project => {
      const tests = textOf(project, isTest)
      return ['src/imap/commands.ts', 'src/pop3/commands.ts'].flatMap(path =>
        declared(project, path, /\bname: '([A-Z][A-Z0-9 -]*)'/g)
          .filter(({ name }) => !new RegExp(`\\b${name}\\b`).test(tests))
          .map(finding('is run by no test')),
      )
    },
  },
  {
    name: 'endpoint',
    promise: 'every endpoint is called by a test, and its path is listed once',
    find: project => {
      const lines = [...project.values()].filter(({ path }) => isTest(path)).flatMap(testLines)
      const all = [...project.values()].filter(({ path }) => path.startsWith('src/http/api/')).flatMap(endpoints)
      return all
        .filter(({ method, route }) => !lines.some(line => callsEndpoint(line, method, route)))
        .map(({ source, at, method, route }) => ({
          path: source.path,
          line: lineAt(source, at),
          detail: `${method} ${route} is called by no test`,
        }))
    },
  },
  {
    name: 'export',
    promise: 'what a file of the service exports is used by another file or by a test',
    find: project => {
      const sources = [...project.values()].filter(({ path }) => path.endsWith('.ts'))
      return sources
        .filter(({ path }) => isProgram(path) && !path.startsWith('workers/') && path !== 'src/service.ts')
        .flatMap(source => {
          const others = sources.filter(other => other !== source).map(other => other.code)
          const names = matchAll(source, /^export (?:async )?(?:function\*?|const|class) (\w+)/gm)
          return names
            .filter(({ name }) => !others.some(code => new RegExp(`\\b${name}\\b`).test(code)))
            .map(finding('is exported for nobody'))
        })
    },
  },
]

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

function matchAll(source: Source, pattern: RegExp): Declaration[] {
  return [...source.text.matchAll(pattern)].map(match => ({ source, at: match.index, name: match[1] ?? '' }))
}

function endpoints(source: Source): { source: Source; at: number; method: string; route: string }[] {
  const heads = source.text.matchAll(/\bmethod: '([A-Z]+)',\s*path: '([^']+)'/g)
  return [...heads].map(match => ({ source, at: match.index, method: match[1] ?? '', route: match[2] ?? '' }))
}

interface TestLine {
  readonly text: string
  /** Paths in this line are below an account (test/api/mail-world.ts). */
  readonly below: boolean
}

function testLines({ path, text }: Source): TestLine[] {
  const world = path === 'test/api/mail-world.ts'
  const uses = text.includes("from './mail-world.ts'")
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

function unused(names: readonly Declaration[], used: ReadonlySet<string>, text: string): Finding[] {
  return names.filter(({ name }) => !used.has(name)).map(finding(text))
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

function textOf(project: Project, where: (path: string) => boolean): string {
  return [...project.values()]
    .filter(({ path }) => where(path))
    .map(({ text }) => text)
    .join('\n')
}

function isTest(path: string): boolean {
  return path.startsWith('test/') && path.endsWith('.ts') && !path.startsWith('test/tidy')
}
