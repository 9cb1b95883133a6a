// Signatures of calls to an S3-compatible store (AWS Signature Version 4), from the published description and its examples.
//
// All that is sent is signed: address, query, the headers given here and the hash of the body. Nothing is said about the keys.

import { createHmac, hash } from 'node:crypto'

/** Who calls, and in which region. */
export interface Signer {
  readonly accessKey: string
  readonly secretKey: string
  readonly region: string
}

export interface Call {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE'
  /** Its path must not hold what has to be escaped. */
  readonly url: URL
  /** Lower case; without `host`, `x-amz-date` and `x-amz-content-sha256`, which are added. */
  readonly headers?: Readonly<Record<string, string>>
  /** SHA-256 of the body, hexadecimal; absent where it is empty. */
  readonly bodyHash?: string
}

const emptyHash = hash('sha256', '', 'hex')

/** All headers of the call, its signature among them. @param at milliseconds since 1970 */
export function signed(call: Call, { accessKey, secretKey, region }: Signer, at: number): Record<string, string> {
  const moment = `${new Date(at).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`
  const day = moment.slice(0, 8)
  const scope = `${day}/${region}/s3/aws4_request`
  const bodyHash = call.bodyHash ?? emptyHash
  const headers: Record<string, string> = {
    ...call.headers,
    host: call.url.host,
    'x-amz-content-sha256': bodyHash,
    'x-amz-date': moment,
  }
  const names = Object.keys(headers).sort()
  const lines = names.map(name => `${name}:${headers[name]?.trim()}\n`).join('')
  const query = [...call.url.searchParams]
    .map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
    .sort()
    .join('&')
  const canonical = [call.method, call.url.pathname, query, lines, names.join(';'), bodyHash].join('\n')
  const text = ['AWS4-HMAC-SHA256', moment, scope, hash('sha256', canonical, 'hex')].join('\n')
  let key: Buffer = Buffer.from(`AWS4${secretKey}`)
  for (const step of [day, region, 's3', 'aws4_request']) key = hmac(key, step)
  const signature = hmac(key, text).toString('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope},SignedHeaders=${names.join(';')},Signature=${signature}`
  return { ...headers, authorization }
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** What RFC 3986 does not leave as it is; more than encodeURIComponent escapes. */
function escaped(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
}
