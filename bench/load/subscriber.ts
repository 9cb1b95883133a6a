// A webhook endpoint in a process of its own: takes what comes, never answers below /hang, and tells how late it was.
//
// Asked, it gives its port and what came since it was last asked to forget; ids are counted so that nothing counts twice.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { monotonic, now } from '#lib/clock.ts'

export interface Taken {
  readonly port: number
  readonly calls: number
  /** Different ids among them. */
  readonly different: number
  /** From the first call to the last. */
  readonly ms: number
  /** Time from each event to its call, sorted. */
  readonly delaysMs: readonly number[]
}

let ids = new Set<string>()
let delays: number[] = []
let first = 0
let last = 0

const server = createServer((request, response) => {
  let text = ''
  request.setEncoding('utf8')
  request.on('data', chunk => {
    text += chunk
  })
  request.on('end', () => {
    if (request.url?.startsWith('/hang') === true) return
    const { id, time } = JSON.parse(text) as { id: string; time: number }
    if (delays.length === 0) first = monotonic()
    last = monotonic()
    ids.add(id)
    delays.push(now() - time)
    response.writeHead(200).end()
  })
})

server.listen(0, '127.0.0.1')
process.on('message', (question: { forget?: boolean; delays?: boolean }) => {
  const { port } = server.address() as AddressInfo
  const delaysMs = question.delays === true ? delays.toSorted((a, b) => a - b) : []
  process.send?.({ port, calls: delays.length, different: ids.size, ms: last - first, delaysMs } satisfies Taken)
  if (question.forget !== true) return
  ids = new Set()
  delays = []
})
process.on('SIGTERM', () => process.exit(0))
