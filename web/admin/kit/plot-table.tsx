// The values of a plot as a table, for those who do not see it or want the figures: made only when somebody opens it.
//
// Moments are gathered into few rows, each with what its lines come to in that time.

import { useState } from 'preact/hooks'
import { moment } from '../../base/language.ts'
import { Table } from '../../base/parts.tsx'
import { adminTexts } from '../texts/texts.ts'

export interface Line {
  readonly label: string
  readonly values: readonly (number | null)[]
  /** What values of it come to: their sum, the last of them. */
  of(values: readonly (number | null)[]): number | undefined
}

const rowsMax = 24

export function PlotTable({
  title,
  times,
  lines,
  form,
}: {
  readonly title: string
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  form(value: number): string
}) {
  const { overview: texts, log } = adminTexts.value
  const [isOpen, setOpen] = useState(false)
  const size = Math.max(1, Math.ceil(times.length / rowsMax))
  const starts = times.map((_, index) => index).filter(index => index % size === 0)
  const cell = (line: Line, start: number) => {
    const value = line.of(line.values.slice(start, start + size).filter(one => one !== null))
    return value === undefined ? '–' : form(value)
  }
  return (
    <details onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{texts.asTable}</summary>
      {isOpen && (
        <Table
          label={title}
          rows={starts}
          id={start => start}
          columns={[
            { title: log.time, cell: start => moment((times[start] ?? 0) * 1000) },
            ...lines.map(line => ({ title: line.label, cell: (start: number) => cell(line, start), atEnd: true })),
          ]}
        />
      )}
    </details>
  )
}
