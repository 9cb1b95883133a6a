// The empty document that the page puts somebody's HTML into: a frame in which nothing runs and from which nothing leaves.
//
// The page cleans the HTML before; this holds whatever that overlooks. No script runs here (the sandbox and the policy both
// say so), no form is sent, nothing is fetched, and pictures from elsewhere only where whoever reads has asked for them.

import { limits } from '#lib/limits.ts'
import { type Binary, binary } from '../../answer.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'

/** What mail looks like where it does not say so; the page adds its colours. */
const markup =
  '<!doctype html><html><head><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>-</title></head><body></body></html>'

function policy(pictures: string): string {
  return [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    `img-src data: blob:${pictures}`,
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
    'sandbox allow-same-origin allow-popups allow-popups-to-escape-sandbox',
  ].join('; ')
}

export function mailFrameEndpoints(): Endpoint[] {
  const common = {
    method: 'GET',
    tag: 'Page',
    allow: 'public',
    open: true,
    anywhere: true,
    replyType: 'text/html',
  } as const
  return [
    endpoint({
      ...common,
      path: '/frame/closed',
      summary: 'The frame for mail, without pictures from elsewhere',
      run: () => frame(policy('')),
    }),
    endpoint({
      ...common,
      path: '/frame/pictures',
      summary: 'The frame for mail, with pictures from elsewhere',
      run: () => frame(policy(' https: http:')),
    }),
  ]
}

function frame(csp: string): Binary {
  return binary({
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': csp,
      'referrer-policy': 'no-referrer',
      'x-dns-prefetch-control': 'off',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': `private, max-age=${limits.http.frameSeconds}`,
    },
    body: markup,
  })
}
