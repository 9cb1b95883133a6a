// Somebody's project that has Teal in it: packed as it is published, installed into an empty folder by npm as it is
// configured here, and run by each Node that is supported.

import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'

export const releases = ['22', '24', '26'] as const
export type Release = (typeof releases)[number]

export interface Ended {
  readonly code: number
  readonly out: string
}

/** Runs a program to its end; one that does not end is killed. */
export function run(
  program: string,
  words: readonly string[],
  cwd: string,
  more: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  // What this run of tests was told is nothing to others; whom the machine trusts is what npm asks the registry by.
  const told = /^(NODE_(?!EXTRA_CA_CERTS$)|TEAL|VITEST|JEST|TEST)/
  const kept = Object.entries(process.env).filter(([name]) => !told.test(name))
  const env = { ...Object.fromEntries(kept), ...more }
  return new Promise(resolve => {
    execFile(program, words, { cwd, env, timeout: 240_000, maxBuffer: 2 ** 24 }, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
      resolve({ code, out: `${out}${err}` })
    })
  })
}

export class Project {
  readonly folder: string
  /** Has the Nodes, runners and compilers. */
  readonly #tools: string
  readonly #made: string

  private constructor(made: string) {
    this.#made = made
    this.folder = join(made, 'project')
    this.#tools = join(made, 'tools')
  }

  /** Packs dist/ and installs it, alone, then the tools beside it. */
  static async install(): Promise<Project> {
    const project = new Project(mkdtempSync(join(tmpdir(), 'teal-package-')))
    const { folder } = project
    mkdirSync(folder)
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true }))
    await project.npm(project.#made, ['pack', join(process.cwd(), 'dist')])
    await project.npm(folder, ['install', project.tarball])
    return project
  }

  get tarball(): string {
    const [file = ''] = readdirSync(this.#made).filter(name => name.endsWith('.tgz'))
    return join(this.#made, file)
  }

  /** The programs that tests of others run in, which find the package as they would in a project of its own. */
  async installTools(): Promise<void> {
    cpSync(join(import.meta.dirname, 'tools'), this.#tools, { recursive: true })
    await this.npm(this.#tools, ['install', this.tarball])
  }

  /** Another empty project with the same package, from npm's cache alone. */
  async installAgain(): Promise<string> {
    const again = join(this.#made, 'again')
    mkdirSync(again)
    writeFileSync(join(again, 'package.json'), JSON.stringify({ private: true }))
    await this.npm(again, ['install', '--offline', this.tarball])
    return again
  }

  async npm(folder: string, words: readonly string[]): Promise<void> {
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--package-lock=false']
    expect(await run('npm', [...words, ...quiet], folder)).toMatchObject({ code: 0 })
  }

  /** Writes a file of the project with the tools. */
  write(name: string, text: string): void {
    const file = join(this.#tools, name)
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, text)
  }

  read(name: string): string {
    return readFileSync(join(this.folder, 'node_modules/teal', name), 'utf8')
  }

  /** Runs a file with one of the Nodes, in the project with the tools; programs it starts find that Node as well. */
  node(release: Release, words: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ended> {
    const bin = join(this.#tools, `node_modules/node${release}/bin`)
    const env = { TMPDIR: this.temporary, PATH: `${bin}:${process.env.PATH}`, ...more }
    return run(join(bin, 'node'), words, this.#tools, env)
  }

  /** The temporary folder of what is run. */
  get temporary(): string {
    const folder = join(this.#made, 'tmp')
    mkdirSync(folder, { recursive: true })
    return folder
  }

  remove(): void {
    rmSync(this.#made, { recursive: true, force: true })
  }
}

/** Bytes of all files below a folder. */
export function bytesOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  return files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0)
}
