// A nats-server of the test run's own, on a free port of loopback; it may be killed and started again on the same.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monotonic, sleep } from '#lib/clock.ts'

export interface Nats {
  readonly url: string
  /** Ends it as a crash does. */
  kill(): Promise<void>
  /** Starts it on the port it had. */
  start(): Promise<void>
  stop(): Promise<void>
}

export async function startNats(): Promise<Nats> {
  const folder = mkdtempSync(join(tmpdir(), 'teal-nats-'))
  let server: ChildProcess | undefined
  let port = -1
  const start = async () => {
    server = spawn('nats-server', ['-a', '127.0.0.1', '-p', String(port), '--ports_file_dir', folder], {
      stdio: 'ignore',
    })
    server.once('error', error => {
      throw error
    })
    const told = () => {
      const name = readdirSync(folder).find(file => file.endsWith(`_${server?.pid}.ports`))
      return JSON.parse(readFileSync(join(folder, name ?? ''), 'utf8')) as { nats: string[] }
    }
    for (const until = monotonic() + 30_000; ; ) {
      try {
        port = Number(new URL(told().nats[0] ?? '').port)
        return
      } catch (error) {
        if (monotonic() > until) throw error
        await sleep(20)
      }
    }
  }
  const kill = async () => {
    const gone = new Promise(done => server?.once('exit', done))
    server?.kill('SIGKILL')
    await gone
  }
  await start()
  return {
    url: `nats://127.0.0.1:${port}`,
    kill,
    start,
    async stop() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
