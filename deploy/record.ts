// Part of the build: runs the bundle in a folder as a service, once to make what a first start makes and once to keep
// what the engine compiled of it until the first answer (load.cjs); then looks whether the engine takes that back.
//
//   node record.ts <folder of the bundle>

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import v8 from 'node:v8'
import { compile } from './load.ts'

const own = fileURLToPath(import.meta.url)
const [, , folder = '', task = '', dataDir = ''] = process.argv
const listeners = ['api', 'smtp', 'lmtp', 'submission', 'submissions', 'imap', 'imaps', 'pop3', 'pop3s']
const settings = listeners.map(name => `${name}.port=0`)

if (task === 'serve') serve()
else if (task === 'check') process.exit(compile(folder).script.cachedDataRejected === false ? 0 : 1)
else record()

function record(): void {
  const fresh = fs.mkdtempSync(path.join(os.tmpdir(), 'teal-record-'))
  try {
    for (const step of ['serve', 'serve', 'check']) {
      const words = [own, folder, step, fresh]
      const { status, signal } = spawnSync(process.execPath, words, { env: {}, stdio: 'inherit' })
      if (status !== 0) throw new Error(`recording ended with ${status ?? signal} (${step})`)
    }
  } finally {
    fs.rmSync(fresh, { recursive: true, force: true })
  }
}

function serve(): void {
  const { script, run } = compile(folder)
  // The engine takes back only what was made under the same flags, and a start reads it before the service sets any.
  v8.setFlagsFromString = () => {}
  process.argv = [process.execPath, 'teal', 'serve']
  process.argv.push('--set', ...settings, `dataDir=${dataDir}`, 'log.level=error')
  run()
  void answered().then(() => {
    fs.writeFileSync(path.join(folder, 'main.cache'), script.createCachedData())
    process.kill(process.pid, 'SIGTERM')
  })
}

/** Until the service has answered once. */
async function answered(): Promise<void> {
  const file = path.join(dataDir, 'run.json')
  for (;;) {
    if (process.exitCode) throw new Error('the recorded service does not start')
    if (fs.existsSync(file)) {
      const { host, port } = JSON.parse(fs.readFileSync(file, 'utf8')).listeners.api
      const token = fs.readFileSync(path.join(dataDir, 'root-token'), 'utf8').trim()
      const answer = await fetch(`http://${host}:${port}/health`, { headers: { 'x-access-token': token } })
      if (answer.status !== 200) throw new Error(`the recorded service is not well: ${answer.status}`)
      return
    }
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}
