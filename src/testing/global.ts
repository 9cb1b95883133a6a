// The globalSetup of vitest, jest and Playwright: one service for a whole run, to which the tests of all workers connect.
//
// What it gives ends it (vitest and Playwright call it); where nobody calls that, as jest does not, it ends with the process.

import { holding } from '#lib/clock.ts'
import { Host } from './host.ts'
import { tellRun } from './run/environment.ts'
import { shareHost } from './run/sharing.ts'
import { variables } from './variables.ts'

export default function setup(): Promise<() => Promise<void>> {
  return holding(async () => {
    const host = await Host.start()
    const shared = await shareHost(host)
    // Workers that are started from now on have them.
    const takeBack = tellRun(shared.place, variables(host.port('smtp'), 'nodemailer'))
    return () =>
      holding(async () => {
        takeBack()
        shared.close()
        await host.close()
      })
  })
}
