// What every file looks like: its name, opening, length, the words and calls it may not hold.
//
// A rule is a function from the project to what it looked at and what it found; it knows nothing of exemptions, which
// stand in one list. A rule that looks at nothing fails, since what it looks at has moved away from under it.

import { lineAt, type Project, type Source } from './source.ts'

export interface Finding {
  readonly path: string
  readonly line: number
  readonly detail: string
}

/** What a rule saw. */
export interface Look {
  /** Kind of thing -> how many were looked at. */
  readonly looked: Readonly<Record<string, number>>
  readonly findings: readonly Finding[]
}

export interface Rule {
  readonly name: string
  /** What holds when the rule finds nothing; a sentence for the test's name. */
  readonly promise: string
  find(project: Project): Look
}

/** Judges each thing, and counts those it judged: the same list for both. */
export function look<Thing>(
  things: Readonly<Record<string, readonly Thing[]>>,
  judge: (thing: Thing, kind: string) => Finding | readonly Finding[] | false,
): Look {
  const kinds = Object.entries(things)
  return {
    looked: Object.fromEntries(kinds.map(([kind, list]) => [kind, list.length])),
    findings: kinds.flatMap(([kind, list]) => list.flatMap(thing => judge(thing, kind) || [])),
  }
}

const fileLinesMax = 400
const functionLinesMax = 60
/** A file up to this length may say what it is for in one line. */
const shortLinesMax = 60
const clock = ['src/lib/clock.ts', 'src/lib/id.ts']
const vague = ['utils', 'util', 'helpers', 'helper', 'common', 'types', 'constants', 'index', 'misc', 'shared']

/** Words in pieces, so that this file does not hold them. */
const places = [
  ['/wo', 'rk/'],
  ['issu', 'es show'],
  ['clau', 'de'],
  ['anthr', 'opic'],
  ['\\bfound', 'ers?\\b'],
  ['co-auth', 'ored-by'],
  ['next sess', 'ion'],
  ['this sess', 'ion of (work|the project)'],
].map(([a = '', b = '']) => a + b)
const hosts = [
  ['npm', 'js\\.(org|com)'],
  ['npm', 'mirror'],
  ['yarn', 'pkg\\.com'],
  ['arti', 'factory'],
  ['verd', 'accio'],
  ['pypi', '\\.org'],
].map(([a = '', b = '']) => a + b)

/** Whether the file is part of the service itself. */
export function isProgram(path: string): boolean {
  return /^(src|actors|workers)\/.*\.ts$/.test(path)
}

/** Whether the file is part of the web application, which runs in browsers. */
export function isWeb(path: string): boolean {
  return /^web\/.*\.tsx?$/.test(path)
}

export const styleRules: readonly Rule[] = [
  {
    name: 'name',
    promise: 'files and folders are named by short lower-case nouns that say what they are',
    find: project =>
      look({ files: code(project) }, source => !goodName(source.path) && found(source, 0, 'is a vague name')),
  },
  {
    name: 'opening',
    promise:
      'each file opens with up to eight lines on what it is for and what it promises, at least three if not short',
    find: project =>
      look({ files: code(project).filter(({ path }) => !path.startsWith('test/')) }, source => {
        const lines = openingLines(source)
        const least = source.lines.length > shortLinesMax ? 3 : 1
        return (lines < least || lines > 8) && found(source, 0, `opens with ${lines} lines of comment`)
      }),
  },
  {
    name: 'file length',
    promise: `files stay under ${fileLinesMax} lines unless they are a table`,
    find: project =>
      look(
        {
          files: [
            ...service(project),
            ...code(project).filter(({ path }) => isWeb(path) && path !== 'web/base/api.ts'),
          ],
        },
        source => source.lines.length - 1 > fileLinesMax && found(source, 0, `has more than ${fileLinesMax} lines`),
      ),
  },
  {
    name: 'function length',
    promise: `functions stay under ${functionLinesMax} lines unless they list the endpoints of a resource`,
    find: project =>
      look(
        { functions: service(project).flatMap(source => functions(source).map(each => ({ source, ...each }))) },
        ({ source, name, at, lines }) => {
          if (source.path.startsWith('src/http/api/') && name.endsWith('Endpoints')) return false
          return lines > functionLinesMax && found(source, at, `${name} has more than ${functionLinesMax} lines`)
        },
      ),
  },
  calls('clock', 'time, timers and chance come from lib/clock.ts and lib/id.ts', clock, [
    /\bDate\.now\b/g,
    /\bnew Date\(\s*\)/g,
    /\bset(Timeout|Interval)\b/g,
    /\bMath\.random\b/g,
    /\bperformance\.now\b/g,
    /\brandom(Bytes|Int|UUID|FillSync|Fill)\b/g,
  ]),
  calls(
    'environment',
    'settings come from the configuration, so only the command line reads the environment',
    ['src/main.ts', 'src/cli/options.ts'],
    [/\bprocess\.env\b/g],
  ),
  anywhere('console', 'output goes through the log or the command line', /(?<![.\w])console\./g),
  anywhere('any', 'nothing is typed any', /(?<=[:<|&(,=]\s*|\bas\s+|\breadonly\s+)any\b(?!\s*[(.:?])/g),
  anywhere('assertion', 'no value is asserted to be there with !', /[\w)\]]!(?![=])/g),
  anywhere(
    'default export',
    'exports are named',
    /\bexport default\b/g,
    path => isProgram(path) && !path.startsWith('workers/'),
  ),
  anywhere(
    'bare test',
    'no test is left out or runs alone',
    /\b(test|it|describe|suite)\b[.\w]*\.(only|skip|todo|fails)\b/g,
  ),
  anywhere('mock', 'our own modules are not mocked', /\bvi\.(mock|doMock)\b/g),
  {
    name: 'directive',
    promise: 'the compiler is not told to look away',
    find: project => commented(project, /@ts-(ignore|expect-error|nocheck)/, 'silences the compiler'),
  },
  {
    name: 'mark',
    promise: 'nothing is left for later in a comment',
    find: project => commented(project, /\b(TODO|FIXME|XXX|HACK)\b/, 'has a mark'),
  },
  {
    name: 'place',
    promise: 'the project speaks of itself alone, not of where or by whom it was made',
    find: project =>
      mentions(project, new RegExp(`(${places.join('|')})`, 'gi'), source => source.path !== 'package-lock.json'),
  },
  {
    name: 'registry',
    promise: 'no file names the host of a registry',
    find: project => mentions(project, new RegExp(`(${hosts.join('|')})|"resolved":\\s"http`, 'gi'), () => true),
  },
]

/** Length of every function with a body in braces, by the name before it. */
export function functions(source: Source): { name: string; at: number; lines: number }[] {
  const result: { name: string; at: number; lines: number }[] = []
  const heads =
    /(?:function\*?\s*(\w*)|(?:const|let)\s+(\w+)\s*=\s*(?:async\s*)?(?=\()|^\s+(?:static\s+|async\s+|get\s+|set\s+|override\s+|\*)*(#?\w+)(?=\s*(?:<[^>]*>)?\())/gm
  for (const head of source.code.matchAll(heads)) {
    const name = head[1] ?? head[2] ?? head[3] ?? ''
    if (/^(if|for|while|switch|catch|return|await|throw|new|typeof)$/.test(name)) continue
    const start = bodyStart(source.code, head.index + head[0].length)
    if (start < 0) continue
    const lines = source.code.slice(head.index, matching(source.code, start)).split('\n').length
    result.push({ name, at: head.index, lines })
  }
  return result
}

/** Where the `{` of a body is that follows the parameter list at `from`, or -1 where there is none. */
function bodyStart(code: string, from: number): number {
  const open = code.indexOf('(', from)
  if (open < 0 || /[;{}]/.test(code.slice(from, open))) return -1
  const close = matching(code, open)
  const rest = /^\s*(?::\s*(?:[^;={}]*[<|]\s*)?\{[^{}]*\}[^;={}]*|:\s*[^;={}]*)?(?:=>)?\s*\{/.exec(code.slice(close))
  return rest === null ? -1 : close + rest[0].length - 1
}

/** The position after the bracket that closes the one at `open`. */
function matching(code: string, open: number): number {
  let depth = 0
  for (let at = open; at < code.length; at++) {
    if ('({['.includes(code[at] ?? ' ')) depth += 1
    if (')}]'.includes(code[at] ?? ' ')) depth -= 1
    if (depth === 0) return at + 1
  }
  return code.length
}

function goodName(path: string): boolean {
  const parts = path
    .replace(/(\.d)?\.tsx?$/, '')
    .replace(/\.(test|config)$/, '')
    .split('/')
  return parts.every(part => /^[a-z0-9]+(-[a-z0-9]+)*$/.test(part) && !vague.includes(part))
}

function openingLines(source: Source): number {
  const lines = source.lines[0]?.startsWith('#!') ? source.lines.slice(1) : source.lines
  const end = lines.findIndex(line => !line.startsWith('//'))
  return end < 0 ? lines.length : end
}

/** A rule against calls in the service's own files, but for the files that may. */
function calls(name: string, promise: string, allowed: readonly string[], patterns: readonly RegExp[]): Rule {
  return {
    name,
    promise,
    find: project =>
      look({ files: service(project).filter(({ path }) => !allowed.includes(path)) }, source =>
        patterns.flatMap(pattern => matches(source, source.code, pattern)),
      ),
  }
}

/** A rule against a pattern in code. */
function anywhere(name: string, promise: string, pattern: RegExp, where: (path: string) => boolean = () => true): Rule {
  return {
    name,
    promise,
    find: project =>
      look({ files: code(project).filter(({ path }) => where(path)) }, source => matches(source, source.code, pattern)),
  }
}

function commented(project: Project, pattern: RegExp, detail: string): Look {
  return look(
    { files: code(project) },
    source => pattern.test(source.comments) && found(source, source.text.search(pattern), detail),
  )
}

function mentions(project: Project, pattern: RegExp, where: (source: Source) => boolean): Look {
  return look({ files: [...project.values()].filter(where) }, source => matches(source, source.text, pattern))
}

function matches(source: Source, text: string, pattern: RegExp): Finding[] {
  return [...text.matchAll(pattern)].map(match => found(source, match.index, `holds ${match[0].trim()}`))
}

function code(project: Project): Source[] {
  return [...project.values()].filter(({ path }) => /\.tsx?$/.test(path) && path.includes('/'))
}

function service(project: Project): Source[] {
  return [...project.values()].filter(({ path }) => isProgram(path))
}

function found(source: Source, at: number, detail: string): Finding {
  return { path: source.path, line: lineAt(source, at), detail }
}
