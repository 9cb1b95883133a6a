// How fast the SMTP and LMTP layer is with nothing behind it: listeners whose backend throws everything away.
//
//     node bench/smtp.ts [lmtp port] [smtp port]
//
// Prints the ports and runs until it is killed; any SMTP or LMTP load generator may be pointed at it. What it reaches is the
// bound for deliveries of the whole service, beside what a bare line reader reaches on the same machine.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { makeLog } from '#lib/log.ts'
import type { Backend, SmtpService } from '#smtp/backend.ts'
import { startSmtp } from '#smtp/server.ts'

const backend: Backend<string, null> = {
  recipient: address => address,
  open: () => ({ write: () => {}, finish: async () => null, abort: () => {} }),
  deliver: async (_received, { recipients }) => recipients.map(() => ({ stored: true })),
}

const log = makeLog('error')
const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()
const services: [SmtpService, string | undefined][] = [
  ['lmtp', process.argv[2]],
  ['smtp', process.argv[3]],
]
for (const [service, port = '0'] of services) {
  const bounds = { sessionsPerAddressMax: 10_000, sessionsMax: 10_000 }
  const hostname = 'bench.example'
  const listener = await startSmtp({ service, host: '127.0.0.1', port: Number(port), hostname, backend, log, bounds })
  process.stdout.write(`${service} ${listener.address.host}:${listener.address.port}\n`)
}
process.on('SIGTERM', () => {
  const nanosecond = 1e6
  process.stdout.write(`event loop delay p99 ${(delay.percentile(99) / nanosecond).toFixed(1)} ms\n`)
  process.exit(0)
})
