// Starting and idling: from the start of the process to its first answer, and what it holds in memory when nothing
// happens.
//
// The first start makes keys, a certificate and the database; the later ones find them. The probe that measures loop
// delay is loaded too and costs about a megabyte.

import { sleep } from '#lib/clock.ts'
import { residentBytes } from '../child.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, removeFolder, startService } from '../service.ts'

const firstAnswerMs = 1000
const idleMegabytes = 150
const starts = 5

export async function startSection(plan: Plan): Promise<Row[]> {
  const folder = makeFolder()
  try {
    const times: number[] = []
    let memory = 0
    for (let index = 0; index < starts; index++) {
      const service = await startService(folder)
      times.push(service.startMs)
      if (index === starts - 1) {
        await sleep(plan.idleMs)
        memory = residentBytes(service.pid)
      }
      await service.stop()
    }
    const [first = 0, ...later] = times
    const middle = later.toSorted((a, b) => a - b)[Math.floor(later.length / 2)] ?? 0
    const wanted = { most: firstAnswerMs }
    return [
      { what: 'first start to first answer', figure: first, unit: 'ms', wanted },
      { what: 'later start to first answer (median)', figure: middle, unit: 'ms', wanted },
      { what: 'idle memory (RSS)', figure: memory / 2 ** 20, unit: 'MB', wanted: { most: idleMegabytes } },
    ]
  } finally {
    removeFolder(folder)
  }
}
