// The API's own documentation: /openapi.json and a page that shows it, without anything from elsewhere.
//
// Both are public: they tell what the service can do, never what is in it. The page's script and style are files of
// their own so that the strictest content policy fits.

import { binary, type Headers } from '../../answer.ts'
import { type OpenapiOptions, printOpenapi } from '../../document/openapi.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { markup } from '../../page/markup.ts'
import { script } from '../../page/script.ts'
import { style } from '../../page/style.ts'

export type DocumentationDeps = Omit<OpenapiOptions, 'endpoints'>

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** `others` are all other endpoints; these describe themselves too. */
export function documentationEndpoints(others: readonly Endpoint[], deps: DocumentationDeps): Endpoint[] {
  const html: Headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
    'referrer-policy': 'no-referrer',
  }
  // Printed when somebody asks for it: few ever do, and it takes longer than all listeners to open.
  let bytes: Uint8Array | undefined
  const printed = () => {
    bytes ??= printOpenapi({ ...deps, endpoints: [...others, document] })
    return bytes
  }
  const document: Endpoint = file('/openapi.json', 'This document', 'application/json; charset=utf-8', printed)
  const own = [
    document,
    file('/docs', 'Documentation for people', html, () => markup),
    file('/docs/page.js', "The page's script", 'text/javascript; charset=utf-8', () => script),
    file('/docs/page.css', "The page's style", 'text/css; charset=utf-8', () => style),
  ]
  return own
}

function file(path: string, summary: string, type: string | Headers, body: () => string | Uint8Array): Endpoint {
  const headers: Headers = {
    ...(typeof type === 'string' ? { 'content-type': type } : type),
    'cache-control': 'no-cache',
  }
  return endpoint({
    method: 'GET',
    path,
    tag: 'Service',
    summary,
    allow: 'public',
    open: true,
    anywhere: true,
    replyType: String(headers['content-type']).split(';', 1)[0] ?? '',
    run: () => binary({ headers, body: body() }),
  })
}
