// The last lines of the log over HTTP, and new ones as they are written.
//
// What is kept is what was written since the start, within bounds, and what is masked there is masked here. A reader who does not come along
// misses lines and is told how many; nobody waits for one.

import { Type } from 'typebox'
import { after } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import type { LogTail, TailLine } from '#lib/journal/tail.ts'
import { limits } from '#lib/limits.ts'
import { eventStream, type StreamEvent } from '../../answer.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { int, moment, oneOf, optional, text } from '../../schema.ts'

export interface LogDeps {
  /** Undefined where the log was made by somebody else. */
  readonly tail: LogTail | undefined
}

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
const partLengthMax = 255
const { pageLinesMax, waitingLinesMax, readersMax } = limits.log

const query = {
  level: oneOf(levels, { default: 'trace', description: 'This one and those that are worse' }),
  event: optional(text({ max: partLengthMax, description: 'Only lines of this event' })),
  user: optional(
    text({ max: partLengthMax, description: 'Only lines in which this stands whole: an id, a name or an address' }),
  ),
  text: optional(text({ max: partLengthMax, lower: true, description: 'Only lines that hold this, in any case' })),
}

interface Filter {
  readonly level: (typeof levels)[number]
  readonly event?: string | undefined
  readonly user?: string | undefined
  readonly text?: string | undefined
}

const lineShape = Type.Object({
  number: Type.Integer({ description: 'Rises with each line; begins at 1 with each start of the service' }),
  level: Type.String(),
  time: moment,
  msg: Type.String(),
  event: Type.Optional(Type.String()),
  fields: Type.Record(Type.String(), Type.Unknown(), { description: 'Everything else of the line' }),
})

export function logEndpoints({ tail }: LogDeps): Endpoint[] {
  let readers = 0

  const list = endpoint({
    method: 'GET',
    path: '/log',
    tag: 'Service',
    summary: 'The last lines of the log, the newest first',
    description: 'As far as they are kept in memory since the start.',
    allow: 'log.read',
    query: {
      ...query,
      limit: int({ min: 1, max: pageLinesMax, default: 100 }),
      before: optional(int({ min: 1, description: 'Only lines before the one of this number' })),
    },
    reply: {
      results: Type.Array(lineShape),
      more: Type.Boolean({ description: 'Whether there are further ones, before the last of these' }),
    },
    run({ input }) {
      const wanted = filterOf(input)
      const results = []
      for (const line of tail?.before(input.before) ?? []) {
        const shown = wanted(line)
        if (shown === undefined) continue
        if (results.length === input.limit) return { results, more: true }
        results.push(shown)
      }
      return { results, more: false }
    },
  })

  const live = endpoint({
    method: 'GET',
    path: '/log/live',
    tag: 'Service',
    summary: 'New lines of the log as they are written',
    description:
      'Each event is a line; one of type `missed` says how many lines were left out for a reader who is slow.',
    allow: 'log.read',
    query,
    replyType: 'text/event-stream',
    faults: ['TooManySessions'],
    run({ input, signal }) {
      if (tail === undefined || readers >= readersMax) throw new Fault('TooManySessions')
      readers += 1
      let here = true
      const left = () => {
        if (here) readers -= 1
        here = false
      }
      // Who leaves before the first line is asked for has left, too.
      signal.addEventListener('abort', left, { once: true })
      return eventStream(follow(tail, filterOf(input), signal, left))
    },
  })

  return [list, live]
}

type Shown = ReturnType<typeof shownLine>

/** Gives lines that are wanted as they are shown. Text is looked for before anything is parsed. */
function filterOf({ level, event, user, text: part }: Filter): (line: TailLine) => Shown | undefined {
  const least = levels.indexOf(level)
  const whole = user === undefined ? undefined : JSON.stringify(user).toLowerCase()
  return line => {
    const lower = part === undefined && whole === undefined ? '' : line.text.toLowerCase()
    if ((part !== undefined && !lower.includes(part)) || (whole !== undefined && !lower.includes(whole)))
      return undefined
    const shown = shownLine(line)
    if (levels.indexOf(shown.level as Filter['level']) < least) return undefined
    return event === undefined || shown.event === event ? shown : undefined
  }
}

function shownLine({ number, text: line }: TailLine) {
  const { level, time, msg, event, ...fields } = JSON.parse(line) as Record<string, unknown>
  const head = { number, level: String(level), time: String(time), msg: String(msg ?? '') }
  return { ...head, ...(typeof event === 'string' && { event }), fields }
}

async function* follow(
  tail: LogTail,
  wanted: (line: TailLine) => Shown | undefined,
  signal: AbortSignal,
  left: () => void,
): AsyncGenerator<StreamEvent> {
  const waiting: Shown[] = []
  let missed = 0
  let wake = () => {}
  const stop = tail.listen(line => {
    if (waiting.length >= waitingLinesMax) missed += 1
    else {
      const shown = wanted(line)
      if (shown === undefined) return
      waiting.push(shown)
      wake()
    }
  })
  const end = () => {
    left()
    stop()
    wake()
  }
  signal.addEventListener('abort', end, { once: true })
  let over = false
  const timer = after(limits.log.liveMs, () => {
    over = true
    wake()
  })
  try {
    while (!signal.aborted && !over) {
      const shown = waiting.shift()
      if (shown !== undefined) yield { data: shown, id: String(shown.number) }
      else if (missed > 0) {
        yield { event: 'missed', data: { lines: missed } }
        missed = 0
      } else {
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    }
  } finally {
    timer.cancel()
    end()
  }
}
