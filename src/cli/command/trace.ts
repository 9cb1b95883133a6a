// `teal trace`: the whole way of a message, by its id in the queue, by its Message-ID or by the id that our reply named.
//
// How it came, to whom, and what was decided about it; then what leaves of it, each step on a line of its own: queued, every attempt with
// the answer of the host, what became of it, what was reported later, what still waits.

import { Command } from 'commander'
import { Fault } from '#lib/fault.ts'
import { oneLine } from '#lib/journal/harmless.ts'
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

interface Arrived {
  readonly recipient: string
  readonly from: string
  readonly at: string
  readonly source: string
  readonly origin?: string
  readonly helo?: string
  readonly protocol?: string
  readonly verificationResults?: Readonly<Record<string, unknown>>
  readonly spam?: {
    readonly score: number
    readonly parts: readonly { readonly name: string; readonly score: number }[]
  }
  readonly decided?: {
    readonly filters: readonly string[]
    readonly stored: string | null
    readonly forwarded: readonly string[]
    readonly queueIds: readonly string[]
  }
  readonly path?: string
}

export function traceCommand(): Command {
  return withConfig(new Command('trace'))
    .argument('<id>', 'its id in the queue, its Message-ID, or the id in the reply it was taken with')
    .option('--json', 'print JSON')
    .addHelpText('after', "\nExample:\n  teal trace '<1234@example.com>'")
    .action(trace)
}

async function trace(id: string, options: ConfigOptions & { readonly json?: boolean }): Promise<void> {
  const to = await reach(configFrom(options))
  try {
    const { arrivals, results } = await to.call<{ arrivals: Arrived[]; results: Traced[] }>(
      'GET',
      `/outbound/trace/${encodeURIComponent(id)}`,
    )
    if (results.length + arrivals.length === 0) throw new Fault('NoSuchQueueEntry')
    for (const one of arrivals) print(options.json, one, toldArrival(one))
    for (const one of results) print(options.json, one, told(one))
  } finally {
    await to.close()
  }
}

function toldArrival({ recipient, from, at, source, decided, path, spam, ...one }: Arrived): string {
  const by = [one.helo, one.origin === undefined ? undefined : `[${one.origin}]`].filter(Boolean).join(' ')
  const came = [source === '' ? 'came' : source, by === '' ? '' : `from ${by}`, one.protocol].filter(Boolean).join(' ')
  const verdicts = Object.entries(one.verificationResults ?? {}).map(([name, value]) => `${name}=${resultOf(value)}`)
  const points = (spam?.parts ?? []).map(({ name, score }) => `${name} ${score}`).join(', ')
  const lines = [
    `  ${at}  ${'received'.padEnd(9)} ${oneLine(came)}`,
    ...(verdicts.length === 0 ? [] : [`  ${at}  ${'checked'.padEnd(9)} ${verdicts.join('  ')}`]),
    ...(spam === undefined
      ? []
      : [`  ${at}  ${'scored'.padEnd(9)} ${spam.score}${points === '' ? '' : `  (${points})`}`]),
    ...(decided === undefined ? [] : [`  ${at}  ${'decided'.padEnd(9)} ${decision(decided)}`]),
    ...(path === undefined ? [] : [`  lies in ${path}`]),
  ]
  return [oneLine(`to ${recipient} from <${from}>`), ...lines].join('\n')
}

function decision({ filters, stored, forwarded, queueIds }: NonNullable<Arrived['decided']>): string {
  return [
    stored === null ? 'not stored' : `stored in ${stored}`,
    ...(filters.length === 0 ? [] : [`by ${filters.join(', ')}`]),
    ...(forwarded.length === 0 ? [] : [`on to ${forwarded.join(', ')}`]),
    ...(queueIds.length === 0 ? [] : [`queued as ${queueIds.join(', ')}`]),
  ].join(', ')
}

/** A verdict in a word: `pass`, or the domain that proved it. */
function resultOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  const { result, status, domain, name } = value as Readonly<Record<string, unknown>>
  const word = result ?? status ?? domain ?? name
  if (typeof word === 'object' && word !== null) return resultOf(word)
  return word === undefined ? 'yes' : String(word)
}

function told({ queueId, from, targets, steps }: Traced): string {
  const lines = steps.map(({ at, step, target, host, security, response }) => {
    return `  ${at}  ${step.padEnd(9)} ${oneLine([target, host, security, response].filter(Boolean).join('  '))}`
  })
  const waits = targets
    .filter(({ state }) => state === 'waiting' || state === 'sending')
    .map(
      ({ value, state, nextAttempt }) =>
        `  ${state} for ${value}${nextAttempt === false ? '' : `, next at ${nextAttempt}`}`,
    )
  return [`${queueId} from <${from}>`, ...lines, ...waits].join('\n')
}
