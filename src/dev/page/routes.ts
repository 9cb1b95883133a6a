// The page of what arrived, and its files as they were built (web/dev.tsx). It asks this server and nobody else, and nothing that a mail
// says becomes a part of it: its policy forbids that.

import type { Binary } from '#http/answer.ts'
import { PageFiles } from '#http/page/files.ts'
import { Fault } from '#lib/fault.ts'
import { type Answer, missing, type Route } from '../exchange.ts'

const policy = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'"],
  ...["frame-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"],
  "require-trusted-types-for 'script'; trusted-types 'none'",
].join('; ')

export function pageRoutes(): Route[] {
  const files = new PageFiles()
  const served = async (found: Promise<Binary>): Promise<Answer> => {
    try {
      const { status, headers, body } = await found
      const { 'content-type': type = '', ...more } = headers
      const kept = Object.fromEntries(Object.entries(more).map(([name, value]) => [name, String(value)]))
      return {
        status,
        type: String(type),
        headers: { ...kept, 'content-security-policy': policy },
        body: body as Buffer,
      }
    } catch (error) {
      if (error instanceof Fault && error.code === 'ResourceNotFound') throw missing('such file')
      throw error
    }
  }
  return [
    { method: 'GET', path: '/', run: ({ header }) => served(files.devPage(header)) },
    {
      method: 'GET',
      path: '/assets/:name',
      run: ({ params, header }) => served(files.asset(params.name ?? '', header)),
    },
  ]
}
