// The web application's files as the build left them (deploy/web.ts): which there are, and each as an answer.
//
// What has a hash in its name never changes and is kept by browsers for good; the one page that names them is asked for anew
// each time, which its tag makes cheap. Compressed when built; nothing is compressed here, and nothing kept in memory but names.

import { readFile } from 'node:fs/promises'
import { pageFile } from '#lib/build-info.ts'
import { Fault } from '#lib/fault.ts'
import { type Binary, binary, type Headers, isKnown } from '../answer.ts'
import { mayHaveSession } from '../guard/session.ts'

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
/** The same for the page. */
export const entryHeaders = [...fileHeaders, 'accept-language', 'cookie', 'sec-fetch-site'] as const

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
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy':
    'camera=(), microphone=(), geolocation=(), payment=(), usb=(), publickey-credentials-get=(self), publickey-credentials-create=(self)',
}

/** No page that led here keeps a hold of it. */
const alone: Headers = { 'cross-origin-opener-policy': 'same-origin' }

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

  /** A file with a hash in its name, to be kept for good; no page, which would have no policy here. @throws Fault ResourceNotFound */
  async asset(name: string, header: (name: string) => string): Promise<Binary> {
    if (!/-[A-Z0-9]{8}\.\w+$/.test(name)) throw missing()
    return this.#answer(name, header, {
      'cache-control': 'public, max-age=31536000, immutable',
      'cross-origin-resource-policy': 'same-origin',
    })
  }

  /**
   * The page itself, which asks for the texts of the reader's language at once, with the form to sign in where nobody is.
   *
   * @throws Fault ResourceNotFound where none was built
   */
  async page(header: (name: string) => string): Promise<Binary> {
    const manifest = await this.#read()
    const kind = mayHaveSession(header) ? 'index' : 'entry'
    const spoken = [...languages(header('accept-language')), 'en'].map(code => `${kind}.${code}.html`)
    const name = spoken.find(one => Object.hasOwn(manifest, one)) ?? ''
    // Browsers make a process for a page that is alone only when they hear of it, a tenth of a second later than else. Where somebody typed
    // its address, and nobody's mail is here, it need not be.
    const isTyped = kind === 'entry' && header('sec-fetch-site') === 'none'
    const vary = 'Accept-Encoding, Accept-Language, Cookie, Sec-Fetch-Site'
    const headers = { ...pagePolicy, ...(!isTyped && alone), 'cache-control': 'no-cache', vary }
    return this.#answer(name, header, headers, isTyped ? '-open' : '')
  }

  /** The page of `teal dev`, which has a policy of its own. @throws Fault ResourceNotFound where none was built */
  devPage(header: (name: string) => string): Promise<Binary> {
    return this.#answer('dev.html', header, { 'cache-control': 'no-cache' })
  }

  /** What keeps the page for when there is no network; asked for anew each time. @throws Fault ResourceNotFound */
  worker(header: (name: string) => string): Promise<Binary> {
    return this.#answer('worker.js', header, { ...workerPolicy, 'cache-control': 'no-cache' })
  }

  async #answer(name: string, header: (name: string) => string, more: Headers, kind = ''): Promise<Binary> {
    const file = await this.#find(name)
    const accepted = header('accept-encoding')
    const packed = encodings.find(([coding, ending]) => accepts(accepted, coding) && file.packed.includes(ending))
    const tag = `"${file.hash}${packed === undefined ? '' : `-${packed[1]}`}${kind}"`
    const headers = { vary: 'Accept-Encoding', ...more, 'content-type': file.type, etag: tag }
    if (isKnown(header('if-none-match'), tag)) return binary({ status: 304, headers, body: '' })
    const body = await readFile(pageFile(packed === undefined ? name : `${name}.${packed[1]}`))
    return binary({ headers: { ...headers, ...(packed && { 'content-encoding': packed[0] }) }, body })
  }

  #read(): Promise<Manifest> {
    this.#manifest ??= readManifest()
    return this.#manifest
  }

  async #find(name: string): Promise<PageFile> {
    const manifest = await this.#read()
    const file = Object.hasOwn(manifest, name) ? manifest[name] : undefined
    if (file === undefined) throw missing()
    return file
  }
}

function missing(): Fault {
  return new Fault('ResourceNotFound', { text: 'There is no such file' })
}

/** Where the sources run and nothing was built there is no page. */
async function readManifest(): Promise<Manifest> {
  try {
    return JSON.parse(await readFile(pageFile('manifest.json'), 'utf8')) as Manifest
  } catch {
    return {}
  }
}

/** Languages that are asked for, `de-AT` as `de`, the dearest first (RFC 9110 12.5.4). */
function languages(line: string): string[] {
  const asked = line.split(',').map(part => {
    const [range = '', ...rules] = part.split(';').map(word => word.trim().toLowerCase())
    const weight = rules.find(rule => rule.startsWith('q='))
    return { code: range.slice(0, 2), weight: weight === undefined ? 1 : Number(weight.slice(2)) }
  })
  return asked
    .filter(({ code, weight }) => /^[a-z]{2}$/.test(code) && weight > 0)
    .sort((one, other) => other.weight - one.weight)
    .map(({ code }) => code)
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
