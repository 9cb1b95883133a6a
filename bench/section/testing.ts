// What a test waits for: `startTesting` of the built package to its first mail, to the end of `close`, ten at once, and a mail to
// whoever waits for it; beside it what others pick for that, measured alike.
//
// The others are installed by npm into a temporary folder, in the versions named here. Mailpit is neither in Debian nor a
// package of npm, and GreenMail publishes no such figures: neither stands here.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startChild } from '../child.ts'
import { type CatcherName, catcherNames } from '../peer/catcher.ts'
import type { CatcherFigures } from '../peer/catcher-child.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, removeFolder } from '../service.ts'

const others = { 'smtp-tester': '2.1.0', maildev: '3.0.0' }

const warmMs = 300
const closeMs = 30
const tenMs = 2000
const eachMegabytes = 60
const waitMs = 5

export async function testingSection(plan: Plan): Promise<Row[]> {
  const folder = makeFolder()
  try {
    const modules = install(folder)
    const rows: Row[] = []
    for (const name of catcherNames) {
      const child = startChild('bench/peer/catcher-child.ts', [name, modules[name]], {})
      try {
        rows.push(...rowsOf(name, (await child.ask({ mails: plan.ms / 10 })) as CatcherFigures))
      } finally {
        await child.stop(1000)
      }
    }
    return rows
  } finally {
    removeFolder(folder)
  }
}

/** Installs the others; where the module of each lies. */
function install(folder: string): Record<CatcherName, string> {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: others }))
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['install', ...quiet], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  return {
    teal: fileURLToPath(new URL('../../dist/testing.js', import.meta.url)),
    'smtp-tester': createRequire(join(folder, 'package.json')).resolve('smtp-tester'),
    maildev: join(folder, 'node_modules/maildev/dist/index.js'),
  }
}

function rowsOf(name: CatcherName, figures: CatcherFigures): Row[] {
  const ours = name === 'teal'
  const who = ours ? 'startTesting' : `${name} ${others[name]}`
  const wish = (most: number) => (ours ? { wanted: { most } } : {})
  const ms = 'ms'
  const MB = 2 ** 20
  const { loadMs, firstMs } = figures
  const note = `its module is loaded in ${loadMs.toFixed(0)} ms, the first of a process takes ${firstMs.toFixed(0)} ms`
  return [
    { what: `${who}: start to the first mail, warm`, figure: figures.warmMs, unit: ms, ...wish(warmMs), note },
    { what: `${who}: close`, figure: figures.closeMs, unit: ms, ...wish(closeMs) },
    { what: `${who}: ten at once, each with a mail`, figure: figures.tenMs, unit: ms, ...wish(tenMs) },
    { what: `${who}: memory of each of ten`, figure: figures.eachBytes / MB, unit: 'MB', ...wish(eachMegabytes) },
    { what: `${who}: memory of the first, program included`, figure: figures.oneBytes / MB, unit: 'MB' },
    {
      ...{ what: `${who}: a mail's last byte to who waits (median)`, figure: figures.waitP50, unit: ms },
      ...{ ...wish(waitMs), note: `p99 ${figures.waitP99.toFixed(1)} ms` },
    },
  ]
}
