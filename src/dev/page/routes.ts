// The page of what arrived, and its two files. It asks this server and nobody else.

import type { Route } from '../exchange.ts'
import { markup } from './markup.ts'
import { script } from './script.ts'
import { style } from './style.ts'

const policy = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'"],
  ...["frame-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"],
  "require-trusted-types-for 'script'; trusted-types 'none'",
].join('; ')

export function pageRoutes(): Route[] {
  const served = (path: string, type: string, body: string): Route => {
    const headers = { 'content-security-policy': policy }
    return { method: 'GET', path, run: () => ({ type: `${type}; charset=utf-8`, headers, body }) }
  }
  return [
    served('/', 'text/html', markup),
    served('/page.css', 'text/css', style),
    served('/page.js', 'text/javascript', script),
  ]
}
