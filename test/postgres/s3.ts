// An S3-compatible store for tests, on loopback: keeps objects as files, believes no signature that it has not worked out itself from
// what came over the wire, and can be slow, refuse, or die in the middle of a call.

import { createHash, createHmac } from 'node:crypto'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { now, sleep } from '#lib/clock.ts'

export const accessKey = 'AKIDTEST'
export const secretKey = 'a+secret/of=tests'
const region = 'us-east-1'
const bucket = 'mail'

/** What goes wrong from now on. */
interface Trouble {
  /** Each call waits so long, milliseconds. */
  slow?: number
  /** Each call of these methods is answered with this status and code. */
  refuse?: { readonly methods: readonly string[]; readonly status: number; readonly code: string }
  /** Calls of these methods are taken and never answered. */
  hangs?: readonly string[]
  /** Each call is sent elsewhere. */
  redirect?: string
  /** Other bytes are given than were asked for, as long as they are. */
  shifted?: boolean
  /** The connection ends in the middle of what is sent (GET), or taken (PUT). */
  dies?: 'GET' | 'PUT'
  /** Told when an object is there, before whoever brought it is. */
  onPut?: () => void | Promise<void>
}

export interface S3 {
  /** Address of the bucket. */
  readonly url: string
  /** Calls that came, as `PUT`. */
  readonly calls: string[]
  trouble: Trouble
  /** Names of what is there. */
  names(): string[]
  /** An object holds something else, or is not there (undefined). @returns what undoes it */
  change(name: string, edit: (bytes: Buffer) => Buffer | undefined): () => void
  /** What is there came so long before. */
  age(ms: number): void
  /** Nobody listens any more, and again on the same port. */
  down(): Promise<void>
  up(): Promise<void>
  close(): Promise<void>
}

/** @param page names in a list @param tls certificate and key, in PEM, where it speaks TLS */
export async function startS3(page = 3, tls?: { readonly cert: Buffer; readonly key: Buffer }): Promise<S3> {
  const folder = mkdtempSync(join(tmpdir(), 'teal-s3-'))
  const sockets = new Set<Socket>()
  let server: Server
  let port = 0
  const s3: S3 = {
    get url() {
      return `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}/${bucket}`
    },
    calls: [],
    trouble: {},
    names: () =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter(name => statSync(join(folder, name)).isFile())
        .sort(),
    change(name, edit) {
      const file = join(folder, name)
      const bytes = readFileSync(file)
      const changed = edit(bytes)
      if (changed === undefined) rmSync(file)
      else writeFileSync(file, changed)
      return () => writeFileSync(file, bytes)
    },
    age(ms) {
      for (const name of s3.names()) {
        const { mtimeMs } = statSync(join(folder, name))
        utimesSync(join(folder, name), (mtimeMs - ms) / 1000, (mtimeMs - ms) / 1000)
      }
    },
    async down() {
      for (const socket of sockets) socket.destroy()
      await new Promise(done => server.close(done))
    },
    async up() {
      const served = (request: IncomingMessage, answer: ServerResponse) => {
        void serve({ folder, page, s3 }, request, answer).catch(() => request.socket.destroy())
      }
      server = tls === undefined ? createServer(served) : createSecureServer(tls, served)
      server.on('connection', socket => {
        sockets.add(socket)
        socket.once('close', () => sockets.delete(socket))
      })
      await new Promise<void>(done => server.listen(port, '127.0.0.1', done))
      port = (server.address() as AddressInfo).port
    },
    async close() {
      if (server.listening) await s3.down()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  await s3.up()
  return s3
}

interface Store {
  readonly folder: string
  readonly page: number
  readonly s3: S3
}

async function serve(store: Store, request: IncomingMessage, answer: ServerResponse): Promise<void> {
  const { s3, folder } = store
  const { method = '' } = request
  const { slow = 0, refuse, dies, onPut, hangs, redirect, shifted = false } = s3.trouble
  s3.calls.push(method)
  if (slow > 0) await sleep(slow)
  if (dies === 'PUT' && method === 'PUT') {
    request.once('data', () => request.socket.destroy())
    return
  }
  const body = await bytesOf(request)
  if (hangs?.includes(method)) return
  if (redirect !== undefined) return void answer.writeHead(307, { location: redirect }).end()
  if (refuse?.methods.includes(method)) return refused(answer, method, refuse.status, refuse.code)
  const wrong = wrongSignature(request, body)
  if (wrong !== undefined) return refused(answer, method, 403, wrong)
  const url = new URL(request.url ?? '', s3.url)
  const [, named, ...rest] = url.pathname.split('/')
  if (named !== bucket) return refused(answer, method, 404, 'NoSuchBucket')
  const name = rest.join('/')
  if (name === '') return list(store, url.searchParams, answer)
  const file = join(folder, name)
  if (method === 'PUT') {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(`${folder}.part`, body)
    renameSync(`${folder}.part`, file)
    await onPut?.()
    answer.writeHead(200).end()
    return
  }
  if (method === 'DELETE') {
    rmSync(file, { force: true })
    answer.writeHead(204).end()
    return
  }
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return refused(answer, method, 404, 'NoSuchKey')
  give(readFileSync(file), request, answer, { dies: dies === 'GET', shift: shifted ? 1 : 0 })
}

function give(
  bytes: Buffer,
  { method, headers, socket }: IncomingMessage,
  answer: ServerResponse,
  { dies, shift }: { readonly dies: boolean; readonly shift: number },
): void {
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? []
  const part = from === undefined ? bytes : bytes.subarray(Number(from) + shift, Number(to) + 1 + shift)
  if (part.length === 0) {
    refused(answer, method ?? '', 416, 'InvalidRange')
    return
  }
  answer.writeHead(from === undefined ? 200 : 206, {
    'content-length': part.length,
    ...(from !== undefined && {
      'content-range': `bytes ${Number(from) + shift}-${Number(to) + shift}/${bytes.length}`,
    }),
  })
  if (method === 'HEAD') answer.end()
  else if (dies) answer.write(part.subarray(0, part.length >> 1), () => socket.destroy())
  else answer.end(part)
}

function list({ s3, page, folder }: Store, query: URLSearchParams, answer: ServerResponse): void {
  const after = Buffer.from(query.get('continuation-token') ?? '', 'base64').toString()
  const all = s3.names().filter(name => name.startsWith(query.get('prefix') ?? '') && name > after)
  const shown = all.slice(0, page)
  const entries = shown.map(name => {
    const { size, mtime } = statSync(join(folder, name))
    return `<Contents><Key>${name}</Key><LastModified>${mtime.toISOString()}</LastModified><ETag>&quot;x&quot;</ETag><Size>${size}</Size></Contents>`
  })
  const cut = all.length > page
  const next = cut
    ? `<NextContinuationToken>${Buffer.from(shown.at(-1) ?? '').toString('base64')}</NextContinuationToken>`
    : ''
  answer.writeHead(200, { 'content-type': 'application/xml' })
  answer.end(
    `<?xml version="1.0"?><ListBucketResult><Name>${bucket}</Name>${next}<IsTruncated>${cut}</IsTruncated>${entries.join('')}</ListBucketResult>`,
  )
}

function refused(answer: ServerResponse, method: string, status: number, code: string): void {
  answer.writeHead(status, { 'content-type': 'application/xml' })
  answer.end(
    method === 'HEAD'
      ? ''
      : `<?xml version="1.0"?><Error><Code>${code}</Code><Message>no, said the store</Message></Error>`,
  )
}

/** The code of what is wrong; undefined where the call is signed with the key, with all that must be. */
function wrongSignature({ method, url = '', headers }: IncomingMessage, body: Buffer): string | undefined {
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/
  const [, key, day = '', where, names = '', signature] = form.exec(headers.authorization ?? '') ?? []
  const moment = String(headers['x-amz-date'])
  const [, y, mo, d, h, mi, s] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(moment) ?? []
  if (key !== accessKey || where !== region || `${y}${mo}${d}` !== day) return 'InvalidAccessKeyId'
  const skew = Math.abs(now() - Date.UTC(Number(y), Number(mo) - 1, Number(d), Number(h), Number(mi), Number(s)))
  if (skew > 15 * 60_000) return 'RequestTimeTooSkewed'
  const list = names.split(';')
  const must = ['host', ...Object.keys(headers).filter(name => name.startsWith('x-amz-'))]
  if (must.some(name => !list.includes(name))) return 'AccessDenied'
  const bodyHash = createHash('sha256').update(body).digest('hex')
  if (headers['x-amz-content-sha256'] !== bodyHash) return 'XAmzContentSHA256Mismatch'
  const [path = '', query = ''] = url.split('?')
  const encoded = query
    .split('&')
    .filter(pair => pair !== '')
    .map(pair => pair.split('=').map(part => strict(decodeURIComponent(part.replaceAll('+', ' ')))))
    .map(([name = '', value = '']) => `${name}=${value}`)
    .sort()
    .join('&')
  const canonical = [
    ...[
      method,
      path
        .split('/')
        .map(part => strict(decodeURIComponent(part)))
        .join('/'),
      encoded,
    ],
    ...list.map(name => `${name}:${String(headers[name]).trim()}`),
    ...['', names, bodyHash],
  ].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const digest = createHash('sha256').update(canonical).digest('hex')
  const step = (secret: string | Buffer, text: string) => createHmac('sha256', secret).update(text).digest()
  const signing = step(step(step(step(`AWS4${secretKey}`, day), region), 's3'), 'aws4_request')
  const own = step(signing, `AWS4-HMAC-SHA256\n${moment}\n${scope}\n${digest}`).toString('hex')
  return own === signature ? undefined : 'SignatureDoesNotMatch'
}

function strict(text: string): string {
  return encodeURIComponent(text).replace(/[!*'()]/g, sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}
