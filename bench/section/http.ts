// HTTP: an authenticated read of the size of GET /health against a bare uWebSockets.js answer of the same size.
//
// Both are measured twice in turns, the bare server before and after the service, and the better of each counts: others
// use these machines too.

import { cpuSeconds, loadNote, runLoad, startChild } from '../child.ts'
import type { LoadResult } from '../load/job.ts'
import type { Target } from '../load/line.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, startService } from '../service.ts'

const connections = 64
const shareOfBare = 0.5

export async function httpSection(plan: Plan): Promise<Row[]> {
  const folder = makeFolder()
  const rows: Row[] = []
  try {
    const service = await startService(folder)
    const [user] = await makeUsers(service, 1)
    const target = service.listener('api')
    const headers = { 'X-Access-Token': service.token }
    const reads = [
      { what: 'GET /users/resolve/:username with a token', path: `/users/resolve/${user?.name}`, wanted: true },
      { what: 'GET /users/:user with a token', path: `/users/${user?.id}`, wanted: false },
      { what: 'GET /health (four checks, two of them writes)', path: '/health', wanted: false },
    ]
    for (const { what, path, wanted } of reads) {
      const length = await answerLength(target, path, headers)
      const before = await measureBare(plan, length)
      const measure = async () => {
        await service.loopDelay()
        const used = cpuSeconds(service.pid)
        const result = await runLoad(read(target, path, headers, plan.ms))
        const cost = microseconds(cpuSeconds(service.pid) - used, result)
        return { result, cost, delay: await service.loopDelay() }
      }
      const first = await measure()
      const after = await measureBare(plan, length)
      const second = await measure()
      const { result, cost, delay } = first.result.rate > second.result.rate ? first : second
      rows.push({
        what: `${what}, ${length} bytes`,
        figure: result.rate,
        unit: '/s',
        bound: { name: 'bare uWS', value: Math.max(before.rate, after.rate) },
        ...(wanted ? { wanted: { least: shareOfBare } } : {}),
        note: `${loadNote(result)}; loop delay p99 ${delay.p99.toFixed(1)} ms; CPU ${cost} us each, bare ${before.cost}`,
      })
    }
    await service.stop()
  } finally {
    removeFolder(folder)
  }
  return rows
}

async function measureBare(plan: Plan, bytes: number): Promise<{ rate: number; cost: number }> {
  const bare = startChild('bench/bare/http.ts', [], {})
  const { port } = (await bare.ask({ bytes })) as { port: number }
  const result = await runLoad(read({ host: '127.0.0.1', port }, '/x', { 'X-Access-Token': 'x'.repeat(40) }, plan.ms))
  const cost = microseconds(cpuSeconds(bare.pid), result)
  await bare.stop(1000)
  return { rate: result.rate, cost }
}

/** Processor time of a server for each request. Where the generator is the slower side this says more than the rate. */
function microseconds(seconds: number, result: LoadResult): number {
  return Math.round((seconds * 1e6) / Math.max(1, result.done))
}

/** Bytes of the body that answers a read. */
async function answerLength(target: Target, path: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const response = await fetch(`http://${target.host}:${target.port}${path}`, { headers })
  return (await response.arrayBuffer()).byteLength
}

function read(target: Target, path: string, headers: Readonly<Record<string, string>>, ms: number) {
  return { kind: 'request', method: 'GET', ...target, path, headers, bodies: [], status: 200, connections, ms } as const
}
