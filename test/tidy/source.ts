// The project's own files as the style rules see them: text, code without comments and literals, imports.
//
// A small scanner is enough here: it knows comments, quotes, templates and regular expressions, and blanks them so that
// a rule about code never trips over a word in a sentence. Positions and line numbers stay those of the file.

import { readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative } from 'node:path'

interface Import {
  readonly specifier: string
  /** Only types: nothing of it is left at run time. */
  readonly typeOnly: boolean
  readonly line: number
}

interface Literal {
  readonly text: string
  readonly at: number
}

export interface Source {
  /** Path from the top of the project, with '/'. */
  readonly path: string
  readonly text: string
  readonly lines: readonly string[]
  /** The text with comments blanked and the inside of quotes, templates and patterns too; same length. */
  readonly code: string
  /** The comments alone, one after another. */
  readonly comments: string
  /** Quoted text without substitutions, in order. */
  readonly literals: readonly Literal[]
  readonly imports: readonly Import[]
}

/** Every file of a project by path. */
export type Project = ReadonlyMap<string, Source>

const left = new Set(['node_modules', 'dist', '.git'])
const texts = new Set([
  '.ts',
  '.tsx',
  '.md',
  '.json',
  '.toml',
  '.yml',
  '.html',
  '.css',
  '.js',
  '.service',
  '.sh',
  '.svg',
  '',
])

/** The files under `root` that a person writes; what is installed, built or written at run time is left out. */
export function readProject(root: string): Project {
  const files = new Map<string, string>()
  const walk = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      const name = relative(root, path).replaceAll('\\', '/')
      // In a second work tree of a clone, `.git` is a file.
      if (left.has(entry.name)) continue
      if (entry.isDirectory()) {
        if (name !== 'data') walk(path)
      } else if (entry.isFile() && texts.has(extname(entry.name))) files.set(name, readFileSync(path, 'utf8'))
    }
  }
  walk(root)
  return makeProject(Object.fromEntries([...files].toSorted(([a], [b]) => (a < b ? -1 : 1))))
}

/** A project from texts by path, for feeding rules. */
export function makeProject(files: Readonly<Record<string, string>>): Project {
  return new Map(Object.entries(files).map(([path, text]) => [path, makeSource(path, text)]))
}

/** The line, from 1, at which position `at` of the source is. */
export function lineAt(source: Pick<Source, 'text'>, at: number): number {
  let line = 1
  for (let next = source.text.indexOf('\n'); next >= 0 && next < at; next = source.text.indexOf('\n', next + 1))
    line += 1
  return line
}

function makeSource(path: string, text: string): Source {
  const lines = text.split('\n')
  if (!/\.(tsx?|js)$/.test(path)) return { path, text, lines, code: '', comments: '', literals: [], imports: [] }
  const { code, comments, literals } = scan(text)
  return { path, text, lines, code, comments, literals, imports: findImports(text, code, literals) }
}

/** Import and export-from statements, dynamic imports, and the side-effect form. */
function findImports(text: string, code: string, literals: readonly Literal[]): Import[] {
  const imports: Import[] = []
  for (const match of code.matchAll(/(?:\b(import|export)\b([^'"`;]*?)\bfrom\s*|\bimport\s*\(?\s*)(['"])/g)) {
    const at = match.index + match[0].length
    const literal = literals.find(literal => literal.at === at)
    if (literal === undefined) continue
    const clause = (match[2] ?? '').trim()
    const named = /^\{([^}]*)\}$/.exec(clause)?.[1]
    const allTypes = named?.split(',').every(name => name.trim() === '' || name.trim().startsWith('type ')) ?? false
    imports.push({
      specifier: literal.text,
      typeOnly: clause.startsWith('type ') || (allTypes && named?.trim() !== ''),
      line: lineAt({ text }, match.index),
    })
  }
  return imports
}

function scan(text: string): { code: string; comments: string; literals: Literal[] } {
  const code = [...text.split('')]
  const literals: Literal[] = []
  const comments: string[] = []
  /** Depth of braces at which each open template continues. */
  const templates: number[] = []
  let depth = 0
  let at = 0
  const blank = (from: number, to: number) => {
    for (let index = from; index < to; index++) if (text[index] !== '\n') code[index] = ' '
  }
  while (at < text.length) {
    const letter = text[at] ?? ''
    if (letter === '/' && text[at + 1] === '/') {
      const end = endOr(text.indexOf('\n', at), text.length)
      comments.push(text.slice(at, end))
      blank(at, end)
      at = end
    } else if (letter === '/' && text[at + 1] === '*') {
      const end = endOr(text.indexOf('*/', at + 2), text.length) + 2
      comments.push(text.slice(at, end))
      blank(at, end)
      at = end
    } else if (letter === "'" || letter === '"') {
      const end = closing(text, at + 1, letter)
      literals.push({ text: text.slice(at + 1, end), at: at + 1 })
      blank(at + 1, end)
      at = end + 1
    } else if (letter === '`' || (letter === '}' && templates.at(-1) === depth)) {
      if (letter === '}') templates.pop()
      const end = templateStop(text, at + 1)
      literals.push({ text: text.slice(at + 1, end), at: at + 1 })
      blank(at + 1, end)
      if (text[end] === '$') templates.push(depth)
      at = end + (text[end] === '$' ? 2 : 1)
    } else if (letter === '/' && startsPattern(code, at)) {
      const end = patternEnd(text, at + 1)
      blank(at + 1, end)
      at = end + 1
    } else {
      if (letter === '{') depth += 1
      if (letter === '}') depth -= 1
      at += 1
    }
  }
  return { code: code.join(''), comments: comments.join('\n'), literals }
}

function endOr(found: number, otherwise: number): number {
  return found < 0 ? otherwise : found
}

function closing(text: string, from: number, quote: string): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at += 1
    else if (text[at] === quote || text[at] === '\n') return at
  }
  return text.length
}

/** Where a template ends or its next substitution starts. */
function templateStop(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at += 1
    else if (text[at] === '`' || (text[at] === '$' && text[at + 1] === '{')) return at
  }
  return text.length
}

/** A slash starts a pattern where no value can have ended just before it. */
function startsPattern(code: readonly string[], at: number): boolean {
  let before = at - 1
  while (before >= 0 && /\s/.test(code[before] ?? '')) before -= 1
  if (before < 0 || /[(,=:[!&|?{};+*%~^<>-]/.test(code[before] ?? '')) return true
  const word = /[a-z]+$/.exec(code.slice(Math.max(0, before - 12), before + 1).join(''))?.[0]
  return word === 'return' || word === 'typeof' || word === 'case' || word === 'of' || word === 'in'
}

function patternEnd(text: string, from: number): number {
  let inClass = false
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at += 1
    else if (text[at] === '[') inClass = true
    else if (text[at] === ']') inClass = false
    else if ((text[at] === '/' && !inClass) || text[at] === '\n') return at
  }
  return text.length
}
