// One line of the result: a figure, the bound or peer measured in the same run, their ratio, and what was wanted.
//
// A figure alone says nothing on a machine that others use too, so what counts is the ratio. Rows without a wish are
// there to be read, not to pass or fail.

export interface Row {
  readonly what: string
  readonly figure: number
  readonly unit: string
  /** What the figure is held against, measured in the same run. */
  readonly bound?: { readonly name: string; readonly value: number }
  /** 'least' and 'most' wish for the ratio where there is a bound, and for the figure where there is none. */
  readonly wanted?: { readonly least?: number; readonly most?: number }
  /** More to know: percentiles, errors. */
  readonly note?: string
}

/** The figure divided by its bound, or undefined without one. */
export function ratioOf(row: Row): number | undefined {
  return row.bound === undefined ? undefined : row.figure / row.bound.value
}

/** Whether the wish is met; undefined where there is none. */
export function isMet(row: Row): boolean | undefined {
  if (row.wanted === undefined) return undefined
  const { least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY } = row.wanted
  const value = ratioOf(row) ?? row.figure
  return value >= least && value <= most
}

/** The rows as a table for a terminal and for a page alike: what, figure, bound, ratio, wanted, ok, note. */
export function formatRows(rows: readonly Row[]): string {
  const head = ['what', 'figure', 'bound', 'ratio', 'wanted', 'ok', 'note']
  const cells = [head, ...rows.map(rowCells)]
  const widths = head.map((_, column) => Math.max(...cells.map(line => (line[column] ?? '').length)))
  const format = (line: readonly string[]) =>
    `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const rule = `|${widths.map(width => '-'.repeat(width + 2)).join('|')}|`
  const [first = [], ...others] = cells
  return [format(first), rule, ...others.map(format)].join('\n')
}

function rowCells(row: Row): string[] {
  const ratio = ratioOf(row)
  const met = isMet(row)
  return [
    row.what,
    `${round(row.figure)} ${row.unit}`,
    row.bound === undefined ? '' : `${row.bound.name} ${round(row.bound.value)}`,
    ratio === undefined ? '' : `${round(ratio)}x`,
    wish(row),
    met === undefined ? '' : met ? 'yes' : 'NO',
    row.note ?? '',
  ]
}

function wish({ wanted, bound, unit }: Row): string {
  if (wanted === undefined) return ''
  const of = bound === undefined ? ` ${unit}` : 'x'
  return wanted.least === undefined ? `<= ${wanted.most}${of}` : `>= ${wanted.least}${of}`
}

/** Three digits that count. */
function round(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US')
  return Number(value.toPrecision(3)).toString()
}
