// A page as a stranger's program would fetch it over HTTPS: with what certificate, and what it says.
//
// For looks at a set-up: the answer is cut to a length, a redirect is an answer like any other, and all of it ends in a few
// seconds. A certificate that is not good is told of, and nothing is asked of who shows it.

import type { TLSSocket } from 'node:tls'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { secureHttp } from '#lib/process/lazy.ts'

export interface Certified {
  /** Names it is good for. */
  readonly names: readonly string[]
  /** Milliseconds since 1970, and how many are left. */
  readonly expires: number
  readonly leftMs: number
  /** Why it is not trusted for the name, in OpenSSL's word or Node's. */
  readonly problem: string | undefined
}

export interface Page {
  /** Undefined where there was no TLS. */
  readonly certified: Certified | undefined
  /** 0 where nothing was answered. */
  readonly status: number
  readonly type: string
  readonly text: string
  /** Why there is no answer: a word of the system. */
  readonly failure: string | undefined
}

interface Place {
  readonly name: string
  /** Where the name leads. */
  readonly address: string
  readonly port: number
  readonly path: string
}

const nothing: Page = { certified: undefined, status: 0, type: '', text: '', failure: undefined }

export function fetchPage({ name, address, port, path }: Place): Promise<Page> {
  const { waitMs } = limits.probe
  return new Promise(resolve => {
    let certified: Certified | undefined
    const end = (page: Partial<Page>) => resolve({ ...nothing, certified, ...page })
    const request = secureHttp().request({
      ...{ host: address, port, path, servername: name, headers: { host: name }, agent: false },
      // Looked at below, before anything is sent.
      rejectUnauthorized: false,
      signal: AbortSignal.timeout(waitMs),
    })
    request.on('socket', socket => {
      socket.on('secureConnect', () => {
        certified = certificateOf(socket as TLSSocket)
        if (certified?.problem === undefined) return
        end({})
        request.destroy()
      })
    })
    request.on('error', error => {
      const { code, name: kind } = error as NodeJS.ErrnoException
      end({ failure: kind === 'AbortError' || kind === 'TimeoutError' ? 'ETIMEDOUT' : (code ?? 'unknown') })
    })
    request.on('response', response => {
      let text = ''
      const told = () => end({ status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', text })
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString()
        if (text.length <= limits.sts.policyBytesMax) return
        told()
        request.destroy()
      })
      response.on('end', told)
      response.on('error', told)
    })
    request.end()
  })
}

function certificateOf(socket: TLSSocket): Certified | undefined {
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) return undefined
  const names = (certificate.subjectAltName ?? '').split(', ').map(one => one.replace(/^(DNS|IP Address):/, ''))
  const expires = certificate.validToDate.getTime()
  const { authorized, authorizationError } = socket
  // What the types call an error is its code as text, or the error itself.
  const problem = authorized
    ? undefined
    : ((authorizationError as { code?: string })?.code ?? String(authorizationError))
  return { names, expires, leftMs: expires - now(), problem }
}
