// `teal trace`: the way of a message that leaves, by its id in the queue or by its Message-ID.
//
// Each step on a line of its own: queued, every attempt with the answer of the host, what became of it, what still waits.

import { Command } from 'commander'
import { Fault } from '#lib/fault.ts'
import { type ConfigOptions, configFrom, withConfig } from '../options.ts'
import { print } from '../print.ts'
import { reach } from '../reach.ts'

interface Traced {
  readonly queueId: string
  readonly from: string
  readonly targets: readonly { readonly value: string; readonly state: string; readonly nextAttempt: string | false }[]
  readonly steps: readonly Step[]
}

interface Step {
  readonly at: string
  readonly step: string
  readonly target: string
  readonly host?: string
  readonly security?: string
  readonly response: string
}

export function traceCommand(): Command {
  return withConfig(new Command('trace'))
    .description('Tell the way of a message that leaves')
    .argument('<id>', 'its id in the queue, or its Message-ID')
    .option('--json', 'print JSON')
    .addHelpText('after', "\nExample:\n  teal trace '<1234@example.com>'")
    .action(trace)
}

async function trace(id: string, options: ConfigOptions & { readonly json?: boolean }): Promise<void> {
  const to = await reach(configFrom(options))
  try {
    const { results } = await to.call<{ results: Traced[] }>('GET', `/outbound/trace/${encodeURIComponent(id)}`)
    if (results.length === 0) throw new Fault('NoSuchQueueEntry')
    for (const one of results) print(options.json, one, told(one))
  } finally {
    await to.close()
  }
}

function told({ queueId, from, targets, steps }: Traced): string {
  const lines = steps.map(({ at, step, target, host, security, response }) => {
    return `  ${at}  ${step.padEnd(9)} ${[target, host, security, response].filter(Boolean).join('  ')}`
  })
  const waits = targets
    .filter(({ state }) => state === 'waiting' || state === 'sending')
    .map(
      ({ value, state, nextAttempt }) =>
        `  ${state} for ${value}${nextAttempt === false ? '' : `, next at ${nextAttempt}`}`,
    )
  return [`${queueId} from <${from}>`, ...lines, ...waits].join('\n')
}
