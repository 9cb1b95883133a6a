// The way out: ten thousand queued messages to a sink on this machine, how fast they leave and what memory does meanwhile.
//
// `node bench/outbound.ts [--quick]`. The messages come in over LMTP for an account that forwards, while sending is
// switched off; then the service is started anew with sending on and the clock runs until the sink has them all. Memory is
// read when a fifth has gone and when all have: pages of its own, without those of mapped files. What still grows then are
// the page caches of SQLite and the young generation of the heap, which have a fixed size.

import { pathToFileURL } from 'node:url'
import { SMTPServer } from 'smtp-server'
import { monotonic, sleep } from '#lib/clock.ts'
import { type Memory, memoryOf, runLoad } from './child.ts'
import { fullPlan, type Plan, quickPlan } from './plan.ts'
import { formatRows, type Row } from './row.ts'
import { makeFolder, makeUsers, removeFolder, startService } from './service.ts'

const mib = 1024 * 1024
const perSecond = 200
const users = 20

export async function outboundSection(plan: Plan): Promise<Row[]> {
  const count = plan.mixed
  const folder = makeFolder()
  const sink = await startSink()
  const env = {
    TEAL_OUTBOUND_RELAY: `smtp://127.0.0.1:${sink.port}`,
    TEAL_NETWORK_ALLOW_PRIVATE: '127.0.0.0/8',
    TEAL_QUOTA_FORWARDS: '1000000',
  }
  try {
    const filling = await startService(folder, { ...env, TEAL_OUTBOUND_ENABLED: 'false' })
    const people = await makeUsers(filling, users)
    for (const { id } of people) await filling.call('PUT', `/users/${id}`, { targets: [`to-${id}@far.test`] })
    const recipients = people.map(({ address }) => address)
    const target = filling.listener('lmtp')
    await runLoad({
      kind: 'deliver',
      protocol: 'lmtp',
      ...target,
      recipients,
      size: 2048,
      seed: 1,
      connections: 16,
      count,
    })
    await filling.stop()
    const service = await startService(folder, env)
    const since = monotonic()
    let early: Memory | undefined
    while (sink.taken() < count && monotonic() - since < limitMs) {
      await sleep(sampleMs)
      if (sink.taken() >= count / 5) early ??= memoryOf(service.pid)
    }
    const seconds = (monotonic() - since) / 1000
    const last = memoryOf(service.pid)
    await service.stop()
    const first = early ?? last
    const text = ({ own, mapped }: Memory) => `${(own / mib).toFixed(0)} MB own, ${(mapped / mib).toFixed(0)} MB mapped`
    return [
      {
        what: `outbound, ${count} queued messages of 2 KB to a sink`,
        ...{ figure: sink.taken() / seconds, unit: '/s', wanted: { least: perSecond } },
        note: `${sink.taken()} taken, ${sink.connections()} connections`,
      },
      {
        what: `outbound, memory grown from message ${count / 5} to ${count}`,
        ...{ figure: (last.own - first.own) / mib, unit: 'MB', wanted: { most: grownMost } },
        note: `${text(first)}; then ${text(last)}`,
      },
    ]
  } finally {
    await sink.close()
    removeFolder(folder)
  }
}

const limitMs = 300_000
const sampleMs = 50
const grownMost = 60

async function startSink() {
  let taken = 0
  let connections = 0
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    logger: false,
    onConnect(_session, done) {
      connections += 1
      done()
    },
    onData(stream, _session, done) {
      stream.on('end', () => {
        taken += 1
        done()
      })
      stream.resume()
    },
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
  const address = server.server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    taken: () => taken,
    connections: () => connections,
    close: () => new Promise<void>(resolve => server.close(() => resolve())),
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const rows = await outboundSection(process.argv.includes('--quick') ? quickPlan : fullPlan)
  process.stdout.write(`${formatRows(rows)}\n`)
}
