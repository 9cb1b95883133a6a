// The globalSetup of vitest, jest and Playwright: one service for a whole run, to which the tests of all workers connect.
//
// What it gives ends it (vitest and Playwright call it); where nobody calls that, as jest does not, it ends with the process.

import { holding } from '#lib/clock.ts'
import { placeVariable } from './connection.ts'
import { Host } from './host.ts'
import { shareHost } from './sharing.ts'
import { variables } from './variables.ts'

export default function setup(): Promise<() => Promise<void>> {
  return holding(async () => {
    const host = await Host.start()
    const shared = await shareHost(host)
    const given: Record<string, string> = {
      ...variables(host.port('smtp'), 'nodemailer'),
      [placeVariable]: shared.place,
    }
    const before = Object.keys(given).map((name): [string, string | undefined] => [name, process.env[name]])
    // Workers that are started from now on have them.
    Object.assign(process.env, given)
    return () =>
      holding(async () => {
        for (const [name, value] of before) {
          if (value === undefined) delete process.env[name]
          else process.env[name] = value
        }
        shared.close()
        await host.close()
      })
  })
}
