// The web application over HTTP: its page at / and below /app, its files below /assets, /worker.js beside them.
//
// Public: there is nothing in them but the program. A program that asks for / without wanting a page for people gets the
// documentation. None of this stands in the API's document.

import { Fault } from '#lib/fault.ts'
import type { Binary } from '../../answer.ts'
import { anyType, type Endpoint, endpoint } from '../../endpoint.ts'
import { entryHeaders, fileHeaders, PageFiles } from '../../page/files.ts'
import { text } from '../../schema.ts'

const common = {
  method: 'GET',
  tag: 'Page',
  allow: 'public',
  open: true,
  anywhere: true,
  replyType: 'text/html',
} as const
const word = text({ description: 'A part of the path that the page reads' })

/** Paths below /app are read by the page; they have no more parts than this. */
const parts = ['area', 'page', 'item', 'part', 'more'] as const

/** @param documentation what answers `GET /docs` */
export function pageEndpoints(documentation: Endpoint): Endpoint[] {
  const files = new PageFiles()
  const first = endpoint({
    ...common,
    path: '/',
    summary: 'The page for people; for programs the documentation',
    headers: [...entryHeaders, 'accept'],
    faults: ['ResourceNotFound'],
    run(context) {
      const { request } = context
      if (request.header('accept').toLowerCase().includes('text/html')) return files.page(name => request.header(name))
      if (request.isOutside) throw new Fault('ResourceNotFound', { text: '/ does not exist' })
      return documentation.run(context) as Binary
    },
  })
  const deep = [...parts.keys(), parts.length].map(count => {
    const names = parts.slice(0, count)
    return endpoint({
      ...common,
      path: ['/app', ...names.map(name => `:${name}`)].join('/'),
      summary: 'The page',
      headers: entryHeaders,
      faults: ['ResourceNotFound'],
      params: Object.fromEntries(names.map(name => [name, word])),
      run: ({ request }) => files.page(name => request.header(name)),
    })
  })
  const asset = endpoint({
    ...common,
    path: '/assets/:file',
    replyType: anyType,
    summary: 'A file of the page',
    headers: fileHeaders,
    params: { file: text({ description: 'Its name' }) },
    faults: ['ResourceNotFound'],
    run: ({ input, request }) => files.asset(input.file, name => request.header(name)),
  })
  const worker = endpoint({
    ...common,
    path: '/worker.js',
    replyType: 'text/javascript',
    summary: 'What keeps the page for when there is no network',
    headers: fileHeaders,
    faults: ['ResourceNotFound'],
    run: ({ request }) => files.worker(name => request.header(name)),
  })
  return [first, ...deep, asset, worker]
}
