// Sends HTTP/1.1 requests on many kept-alive connections, one at a time on each.
//
// Answers are read as far as a measure needs: the status and Content-Length. An answer without a length, or another
// status than the wanted one, is a failure.

import { connect } from 'node:net'
import type { LoadResult, RequestJob } from './job.ts'
import { LoadCounters } from './job.ts'

export function request(job: RequestJob): Promise<LoadResult> {
  const requests = makeRequests(job)
  const counters = new LoadCounters(job)
  return counters.run(ended => open(job, requests, counters, ended))
}

function makeRequests(job: RequestJob): Buffer[] {
  const headers = Object.entries({ Host: `${job.host}:${job.port}`, ...job.headers })
  const head = `${job.method} ${job.path} HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}`
  if (job.bodies.length === 0) return [Buffer.from(`${head}\r\n`)]
  return job.bodies.map(body => Buffer.from(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`))
}

function open(job: RequestJob, requests: readonly Buffer[], counters: LoadCounters, ended: () => void): void {
  const socket = connect({ host: job.host, port: job.port, noDelay: true })
  let since = 0
  let rest: Buffer = Buffer.alloc(0)

  const next = (): void => {
    const number = counters.next()
    const bytes = number === undefined ? undefined : requests[number % requests.length]
    if (bytes === undefined) {
      socket.destroy()
      return
    }
    since = performance.now()
    socket.write(bytes)
  }

  socket.on('connect', next)
  socket.on('data', chunk => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const size = answerSize(rest)
    if (size === 0 || rest.length < size) return
    const status = Number(rest.toString('latin1', 9, 12))
    if (size < 0 || status !== job.status) {
      counters.failed(rest.toString('latin1', 0, 12))
      socket.destroy()
      return
    }
    counters.done(since, size)
    rest = rest.subarray(size)
    next()
  })
  socket.on('error', error => counters.failed(error.message))
  socket.on('close', ended)
}

/** Bytes of the first answer, 0 while its head is not whole, -1 where it has no length. */
function answerSize(bytes: Buffer): number {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return 0
  const head = bytes.toString('latin1', 0, end)
  const length = /\r\ncontent-length: ?(\d+)/i.exec(head)
  if (length === null) return -1
  return end + 4 + Number(length[1])
}
