// The web application's files as the build left them (deploy/web.ts): which there are, and each as an answer.
//
// What has a hash in its name never changes and is kept by browsers for good; the one page that names them is asked for anew
// each time, which its tag makes cheap. Compressed when built; nothing is compressed here, and nothing kept in memory but names.

import { readFile } from 'node:fs/promises'
import { pageFile } from '#lib/build-info.ts'
import { Fault } from '#lib/fault.ts'
import { type Binary, binary, type Headers } from '../answer.ts'

/** What the build says of a file. */
interface PageFile {
  readonly type: string
  readonly hash: string
  /** Compressed forms that lie beside it: `br`, `gz`. */
  readonly packed: readonly string[]
}

/** File name -> what is known of it. */
type Manifest = Readonly<Record<string, PageFile>>

/** Headers that `answer` reads. */
export const fileHeaders = ['accept-encoding', 'if-none-match'] as const

/** Everything comes from here, nothing runs that is written into the page, and nobody else may show it. */
const pagePolicy: Headers = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "frame-src 'self' blob:",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy':
    'camera=(), microphone=(), geolocation=(), payment=(), usb=(), publickey-credentials-get=(self), publickey-credentials-create=(self)',
}

/** It asks this service alone, and brings in nothing else that runs. */
const workerPolicy: Headers = {
  'content-security-policy': "default-src 'none'; connect-src 'self'",
  'cross-origin-resource-policy': 'same-origin',
}

const encodings = [
  ['br', 'br'],
  ['gzip', 'gz'],
] as const

export class PageFiles {
  #manifest: Promise<Manifest> | undefined

  /** A file with a hash in its name, to be kept for good. @throws Fault ResourceNotFound */
  asset(name: string, header: (name: string) => string): Promise<Binary> {
    return this.#answer(name, header, {
      'cache-control': 'public, max-age=31536000, immutable',
      'cross-origin-resource-policy': 'same-origin',
    })
  }

  /** The page itself. @throws Fault ResourceNotFound where none was built */
  page(header: (name: string) => string): Promise<Binary> {
    return this.#answer('index.html', header, { ...pagePolicy, 'cache-control': 'no-cache' })
  }

  /** What keeps the page for when there is no network; asked for anew each time. @throws Fault ResourceNotFound */
  worker(header: (name: string) => string): Promise<Binary> {
    return this.#answer('worker.js', header, { ...workerPolicy, 'cache-control': 'no-cache' })
  }

  async #answer(name: string, header: (name: string) => string, more: Headers): Promise<Binary> {
    const file = await this.#find(name)
    const accepted = header('accept-encoding')
    const packed = encodings.find(([coding, ending]) => accepts(accepted, coding) && file.packed.includes(ending))
    const tag = `"${file.hash}${packed === undefined ? '' : `-${packed[1]}`}"`
    const headers = { ...more, 'content-type': file.type, vary: 'Accept-Encoding', etag: tag }
    if (matches(header('if-none-match'), tag)) return binary({ status: 304, headers, body: '' })
    const body = await readFile(pageFile(packed === undefined ? name : `${name}.${packed[1]}`))
    return binary({ headers: { ...headers, ...(packed && { 'content-encoding': packed[0] }) }, body })
  }

  async #find(name: string): Promise<PageFile> {
    this.#manifest ??= readManifest()
    const manifest = await this.#manifest
    const file = Object.hasOwn(manifest, name) ? manifest[name] : undefined
    if (file === undefined) throw new Fault('ResourceNotFound', { text: 'There is no such file' })
    return file
  }
}

/** Where the sources run and nothing was built there is no page. */
async function readManifest(): Promise<Manifest> {
  try {
    return JSON.parse(await readFile(pageFile('manifest.json'), 'utf8')) as Manifest
  } catch {
    return {}
  }
}

/** Whether a coding is named and not ruled out (RFC 9110 12.5.3). */
function accepts(line: string, coding: string): boolean {
  return line
    .toLowerCase()
    .split(',')
    .some(part => {
      const [name = '', ...rules] = part.split(';').map(word => word.trim())
      return name === coding && !rules.some(rule => /^q=0(\.0*)?$/.test(rule))
    })
}

/** Whether one of the tags is this one (RFC 9110 13.1.2). */
function matches(line: string, tag: string): boolean {
  return line.split(',').some(one => one.trim().replace(/^W\//, '') === tag)
}
