// Who may import whom: the table of layers, the packages with one door, and files that nothing reaches.
//
// A unit is a folder of the layer table. Anything not listed for a unit is refused, so a new folder has to be placed
// here before anybody can use it.

import { posix } from 'node:path'
import { lineAt, type Project, type Source } from './source.ts'
import { type Finding, isProgram, isWeb, look, type Rule } from './style.ts'

const base = ['lib', 'config']
const below = ['lib', 'config', 'net', 'mail', 'store', 'pool']
const front = [...below, 'actors']

/** Unit -> units it may import, besides itself. */
const table: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  config: ['lib'],
  net: ['lib'],
  mail: ['lib'],
  store: [...base, 'mail'],
  pool: [...base, 'mail'],
  actors: below,
  http: front,
  imap: front,
  pop3: front,
  smtp: front,
  jobs: front,
  testing: [...front, 'core', 'service'],
  dev: [...front, 'core', 'http', 'service', 'testing'],
  cli: [...front, 'core', 'service', 'testing', 'dev'],
  core: [...front, 'cluster'],
  front: [...front, 'core', 'http'],
  cluster: front,
  service: [...front, 'core', 'front', 'http', 'jobs'],
  main: [...front, 'core', 'http', 'imap', 'pop3', 'smtp', 'jobs', 'cli', 'service', 'testing'],
  workers: ['lib', 'net', 'mail', 'store', 'front'],
}

/** The file of a protocol that puts it on the core; nothing else of it knows the core. Its folder is a front end. */
const module = /^src\/(\w+)\/protocol\.ts$/

/** What a worker may not take from the store: the main thread's ends of what it shares with workers. */
const mainStore = ['writer/writer', 'folder/cache', 'bodies/bodies', 'bodies/intake']

/** Package -> the only files (or folder) that may import it. */
const doors: Readonly<Record<string, string>> = {
  'uWebSockets.js': 'src/http/front/uws.ts',
  'better-sqlite3': 'src/store/engine/sqlite/handle.ts',
  lmdb: 'src/store/folder/cache-tables.ts',
  pg: 'src/lib/process/lazy.ts',
  '@nats-io/transport-node': 'src/cluster/broker.ts',
  'smol-toml': 'src/config.ts',
  'node:net': 'src/net/',
  'node:tls': 'src/net/',
  'node:worker_threads': 'src/lib/process/',
}

/** Packages that run in browsers. */
const webPackages = /^(preact(\/hooks)?|@preact\/signals|@simplewebauthn\/browser|uplot|dompurify|squire-rte)$/

/** Folder of the web application -> folders it may import beside itself; areas know the ground alone. */
const webGround = ['base', 'texts']
const webLayers: Readonly<Record<string, readonly string[]>> = { base: ['texts'], texts: ['base'] }

const writer = 'src/store/writer/writer.ts'

/** Where actors are, readers, pools and bodies. */
const homes = ['actors/', 'src/store/engine/', 'src/store/writer/', 'src/store/bodies/']

/** The files of IMAP that know them. */
const mailStore = new Set(
  ['mail-store', 'local-store', 'folder-rows', 'recency', 'services', 'protocol'].map(name => `src/imap/${name}.ts`),
)

const roomFilesMax = 15

/** How a statement begins; words of IMAP and of prose go on otherwise. */
const sql =
  /^\s*(SELECT (DISTINCT )?([\w.*]+|\w+\(.*\))( AS \w+)?( FROM\b|,)|SELECT 1\b|INSERT (OR \w+ )?INTO |UPDATE \S+ SET |DELETE FROM [a-z_"]+( |$)|PRAGMA |CREATE (TABLE|INDEX) )/

/** What SQLite says in words of its own, in a text that is a statement or a part of one. */
const engineWord =
  /\b(json_(each|extract)\(|group_concat\(|instr\(|INDEXED BY\b|rowid\b|MATCH \?|PRAGMA\b|GLOB\b|COLLATE\b|INSERT OR\b|CAST\(|WITHOUT ROWID|likely\()|->>?|= (min|max)\(|\buser (=|(IN|NOT|IS)\b)|(FROM|JOIN|UPDATE|INTO) user\b/
const calledPragma = /\.pragma\(/

/** Where the words of the engine may stand: its own files, and the history of the tables. */
const engineFiles = new Set(['full-text', 'schema'].map(name => `src/store/engine/${name}.ts`))
const engineFolders = /^src\/store\/engine\/(?:migrations|postgres|sqlite)\//

/** Files that are started rather than imported. */
const entries = new Set(['src/main.ts', 'src/library.ts', 'src/testing/testing.ts', 'bench/main.ts'])

export const layerRules: readonly Rule[] = [
  {
    name: 'layer',
    promise: 'imports go down the layer table only',
    find: project => {
      const all = imports(project)
      const units = Object.keys(table).map(unit => [`of ${unit}`, all.filter(([{ path }]) => unitOf(path) === unit)])
      const others = all.filter(([{ path }]) => table[unitOf(path)] === undefined)
      const fronts = new Set(programs(project).flatMap(({ path }) => module.exec(path)?.[1] ?? []))
      const { looked, findings } = look<Edge>(Object.fromEntries(units), edge => layer(fronts, edge))
      // lib may reach for nothing, and need not.
      const { 'of lib': _, ...needed } = looked
      return { looked: needed, findings: [...findings, ...others.flatMap(edge => layer(fronts, edge))] }
    },
  },
  {
    name: 'web',
    promise: 'the web application imports itself and packages for browsers, and its areas know nothing of each other',
    find: project => {
      const files = [...project.values()].filter(({ path }) => isWeb(path))
      const all = files.flatMap(source => source.imports.map(each => ({ source, ...each })))
      return look({ imports: all }, ({ source, specifier, line }) => {
        if (!specifier.startsWith('.')) {
          return !webPackages.test(specifier) && found(source, line, `${specifier} is no package for browsers`)
        }
        const [from = '', to = ''] = [source.path, resolve(source, specifier) ?? ''].map(webFolder)
        if (from === to || from === '') return false
        return (
          !(webLayers[from] ?? webGround).includes(to) && found(source, line, `${from} may not import ${specifier}`)
        )
      })
    },
  },
  {
    name: 'alias',
    promise: 'another layer is imported by its alias, so that the line says what it reaches for',
    find: project =>
      look(
        {
          'relative imports': programs(project)
            .filter(source => !source.path.startsWith('workers/'))
            .flatMap(source => source.imports.map(each => ({ source, ...each })))
            .filter(({ specifier }) => specifier.startsWith('.') && !/^\.\/[^/]+$/.test(specifier)),
        },
        ({ source, specifier, line }) =>
          unitOf(resolve(source, specifier) ?? '') !== unitOf(source.path) &&
          found(source, line, `${specifier} is another layer: use its alias`),
      ),
  },
  {
    name: 'door',
    promise: 'a dangerous package is imported by the one file that knows it',
    find: project => {
      const all = programs(project).flatMap(source => source.imports.map(each => ({ source, ...each })))
      const kinds = Object.keys(doors).map(door => [door, all.filter(({ specifier }) => specifier === door)] as const)
      return look(Object.fromEntries(kinds), ({ source, line }, specifier) => {
        const door = doors[specifier] ?? ''
        const open = source.path === door || (door.endsWith('/') && source.path.startsWith(door))
        return !open && found(source, line, `${specifier} is for ${door} alone`)
      })
    },
  },
  {
    name: 'writer',
    promise: 'only actors and the core hold the writer, as a type too; jobs have a writer of their own for queues',
    find: project =>
      look(
        { 'imports of the writer': imports(project).filter(([, , target]) => target === writer) },
        ([source, line, , typeOnly]) => {
          if (['actors', 'core', 'store'].includes(unitOf(source.path))) return false
          if (source.path === 'workers/writer.ts' && typeOnly) return false
          return found(source, line, 'the writer is for actors and the core')
        },
      ),
  },
  {
    name: 'mail store',
    promise: 'what an IMAP session asks of the mail it serves goes through its store, as a type too',
    find: project => {
      const all = imports(project).filter(([{ path }]) => path.startsWith('src/imap/'))
      const behind = all.filter(([, , target]) => homes.some(home => target.startsWith(home)))
      return look(
        { imports: all, 'imports of what lies behind': behind },
        ([source, line, target], kind) =>
          kind !== 'imports' &&
          !mailStore.has(source.path) &&
          found(source, line, `${target} is for the mail store of IMAP`),
      )
    },
  },
  {
    name: 'cycle',
    promise: 'no file reaches itself by imports, types included',
    find: project => {
      const edges = new Map(programs(project).map(({ path }): [string, string[]] => [path, []]))
      for (const [{ path }, , target] of imports(project)) if (edges.has(target)) edges.get(path)?.push(target)
      const cycles = rings(edges).map(ring => ring.toSorted())
      const findings = cycles.map(ring => ({
        path: ring[0] ?? '',
        line: 1,
        detail: `in a cycle of ${ring.length} files: ${ring.join(', ')}`,
      }))
      return { looked: { files: edges.size }, findings }
    },
  },
  {
    name: 'room',
    promise: `a folder holds no more than ${roomFilesMax} files of the service, steps that are numbered left out`,
    find: project => {
      const counted = programs(project).filter(({ path }) => !/\/\d{3}-[^/]*$/.test(path))
      const rooms = Object.groupBy(counted, ({ path }) => posix.dirname(path))
      return look({ folders: Object.entries(rooms) }, ([folder, files = []]) => {
        const path = `${folder}/`
        return files.length > roomFilesMax && { path, line: 1, detail: `holds ${files.length} files` }
      })
    },
  },
  {
    name: 'sql',
    promise: 'statements of SQL stand in the store alone',
    find: project => {
      const texts = programs(project).flatMap(source => source.literals.map(literal => ({ source, ...literal })))
      const inside = (path: string) => unitOf(path) === 'store' || unitOf(path) === 'workers'
      const statements = texts.filter(({ text }) => sql.test(text))
      return look(
        {
          texts,
          'statements in the store': statements.filter(({ source }) => inside(source.path)),
        },
        ({ source, at, text }, kind) => {
          if (kind !== 'texts' || !sql.test(text) || inside(source.path)) return false
          return found(source, lineAt(source, at), `holds ${text.slice(0, 60)}`)
        },
      )
    },
  },
  {
    name: 'engine',
    promise: 'what only one engine understands stands in the files of that engine',
    find: project => {
      const own = ({ path }: { readonly path: string }) => engineFiles.has(path) || engineFolders.test(path)
      const store = programs(project).filter(({ path }) => unitOf(path) === 'store' || unitOf(path) === 'workers')
      const texts = store.flatMap(source => source.literals.map(literal => ({ source, ...literal })))
      return look(
        {
          'texts of the store': texts.filter(({ source }) => !own(source)),
          'files of the store': store.filter(source => !own(source)).map(source => ({ source, at: 0, text: '' })),
        },
        ({ source, at, text }, kind) => {
          if (kind === 'files of the store') {
            const called = calledPragma.exec(source.code)
            return called !== null && found(source, lineAt(source, called.index), 'sets a pragma')
          }
          // Prose has such words, too; a part of a statement has capitals, places or an operator.
          const word = engineWord.exec(text)
          const isSql = /[=<>?]|\b(SELECT|FROM|WHERE|UPDATE|AND|ORDER)\b/.test(text)
          return word !== null && isSql && found(source, lineAt(source, at), `says ${word[0]}`)
        },
      )
    },
  },
  {
    name: 'orphan',
    promise: 'every file is imported or started by another, or is a bench that says how it is started',
    find: project => {
      const reached = new Set(imports(project, everything).map(([, , target]) => target))
      const all = [...project.values()].filter(source => /\.[tj]s$/.test(source.path))
      const files = all.filter(({ path }) => isProgram(path) || path.startsWith('bench/'))
      const started = (path: string) =>
        all.some(other => other.path !== path && other.literals.some(({ text }) => names(other, text, path)))
      return look({ files }, source => {
        const { path, comments } = source
        if (entries.has(path) || isOffered(project, path) || reached.has(path) || started(path)) return false
        if (path.startsWith('bench/') && comments.includes(`node ${path}`)) return false
        return found(source, 1, 'nobody imports or starts this file')
      })
    },
  },
]

/** Whether programs of others import it: the package has an entry for each file of src/testing with types beside it. */
function isOffered(project: Project, path: string): boolean {
  const stem = path.replace(/(\.d)?\.ts$/, '')
  return /^src\/testing\/[^/]+$/.test(stem) && project.has(`${stem}.ts`) && project.has(`${stem}.d.ts`)
}

/** Whether a text in `source` is a path that ends at the file: 'workers/x.ts', or './x.ts' beside it. */
function names(source: Source, text: string, path: string): boolean {
  // lib/build-info.ts starts threads by name, wherever the program lies.
  if (source.path === 'src/lib/build-info.ts' && source.code.includes('threadFile')) {
    if (path === `workers/${text}.ts`) return true
  }
  if (!text.endsWith('.ts')) return false
  if (text.startsWith('./')) return posix.join(posix.dirname(source.path), text) === path
  const tail = text.replace(/^(\.\.\/)+/, '')
  return tail.includes('/') && (path === tail || path.endsWith(`/${tail}`))
}

function layer(fronts: ReadonlySet<string>, [source, line, target, typeOnly]: Edge): Finding[] {
  const from = unitOf(source.path)
  const to = unitOf(target)
  if (from === to && from !== 'workers') return []
  if (to === 'workers') return [found(source, line, 'a worker is started by its URL, never imported')]
  if (to === 'core' && module.test(source.path)) return []
  if ((from === 'service' || from === 'front') && module.test(target)) return []
  const may = table[from] ?? (fronts.has(from) ? front : [])
  if (!may.includes(to)) return [found(source, line, `${from} may not import ${to}`)]
  const file = target.slice('src/store/'.length, -'.ts'.length)
  if (from === 'workers' && to === 'store' && !typeOnly && mainStore.includes(file)) {
    return [found(source, line, `a worker may not import store/${file}.ts`)]
  }
  return []
}

/** Files that are one unit with src/service.ts. */
const serviceParts = new Set([
  'library',
  'listeners',
  'own-certificate',
  'service-api',
  'service-figures',
  'service-reports',
  'teal.d',
])

/** 'store' of src/store/x.ts, 'config' of src/config.ts and src/config/x.ts, 'actors', 'workers'. */
function unitOf(path: string): string {
  const [top = '', second = ''] = path.split('/')
  const unit = second.replace(/\.ts$/, '').replace('testing.d', 'testing')
  if (top !== 'src') return top
  if (unit === 'protocol' || unit === 'mail-core') return 'core'
  // The keys of a protocol are part of the table of keys, though they lie with the protocol.
  if (/^src\/\w+\/keys\.ts$/.test(path)) return 'config'
  return serviceParts.has(unit) ? 'service' : unit
}

/** 'account' of web/account/x.tsx, '' of web/main.tsx; elsewhere the whole path, which nobody may import. */
function webFolder(path: string): string {
  const [top, folder = ''] = path.split('/')
  if (top !== 'web') return path
  return path.split('/').length > 2 ? folder : ''
}

type Edge = readonly [source: Source, line: number, target: string, typeOnly: boolean]

function imports(project: Project, of: (project: Project) => Source[] = programs): Edge[] {
  return of(project).flatMap(source =>
    source.imports.flatMap(({ specifier, line, typeOnly }) => {
      const target = resolve(source, specifier)
      return target === undefined ? [] : [[source, line, target, typeOnly] as const]
    }),
  )
}

/** The project's file that an import reaches, or undefined for a package. */
function resolve(source: Source, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return posix.normalize(posix.join(posix.dirname(source.path), specifier))
  if (!specifier.startsWith('#')) return undefined
  const name = specifier.slice(1)
  if (name.startsWith('protocols/')) return `src/${name.slice('protocols/'.length)}/protocol.ts`
  if (!name.includes('/')) return `src/${name}.ts`
  return name.startsWith('actors/') ? name : `src/${name}`
}

/** Groups of more than one node that all reach each other (Tarjan's strongly connected components), and nodes that reach themselves. */
function rings(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const result: string[][] = []
  const visit = (node: string): number => {
    const own = order.size
    let low = own
    order.set(node, own)
    open.push(node)
    const targets = edges.get(node) ?? []
    for (const target of targets) {
      const seen = order.get(target)
      if (seen === undefined) low = Math.min(low, visit(target))
      else if (open.includes(target)) low = Math.min(low, lowest.get(target) ?? seen)
    }
    lowest.set(node, low)
    if (low < own) return low
    const ring = open.splice(open.indexOf(node))
    if (ring.length > 1 || targets.includes(node)) result.push(ring)
    return low
  }
  for (const node of edges.keys()) if (!order.has(node)) visit(node)
  return result
}

function programs(project: Project): Source[] {
  return [...project.values()].filter(({ path }) => isProgram(path))
}

/** Programs and benches: tests are left out, since what only a test imports is not used. */
function everything(project: Project): Source[] {
  return [...project.values()].filter(({ path }) => /\.[tj]s$/.test(path) && !path.startsWith('test/'))
}

function found(source: Source, line: number, detail: string): Finding {
  return { path: source.path, line, detail }
}
