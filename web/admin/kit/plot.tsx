// A plot over time: lines in the colours of the page, and what they come to in words.
//
// The values of a moment are shown under the pointer and told to whoever moves along it with the arrow keys; all of it is there as a
// table, too. It follows the width of its place, the theme and the language. Nothing is asked of any other host.

import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { language, list, locale, moment } from '../../base/language.ts'
import { theme } from '../../base/theme.ts'
import { adminTexts } from '../texts/texts.ts'
import { type Line, PlotTable } from './plot-table.tsx'

/** Steps of an axis: the smallest, and whether larger ones go by tens or as bytes do. */
export interface Steps {
  readonly least: number
  readonly base: 10 | 1024
}

interface PlotProps {
  readonly title: string
  /** Seconds since 1970. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  /** A value as people read it. */
  form(value: number): string
  /** What a step of the axis may be, and how far it goes where there is nothing. */
  readonly steps?: Steps
}

/** Whole numbers: half a message is none. */
const counts: Steps = { least: 1, base: 10 }

const height = 190
const timeAxisHeight = 26
const valueAxisWidth = 60

export function Plot({ title, times, lines, form, steps = counts }: PlotProps) {
  const place = useRef<HTMLDivElement>(null)
  const drawn = useRef<uPlot | null>(null)
  const [at, setAt] = useState<number | null>(null)
  const isEmpty = lines.every(({ values }) => values.every(value => value === null || value === 0))
  const shown = `${language.value} ${theme.value} ${isDark.value}`
  useEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const plot = new uPlot(
      {
        ...optionsOf(element, lines, form, steps),
        hooks: { setCursor: [({ cursor: { idx } }) => setAt(idx ?? null)] },
      },
      [[...times], ...lines.map(line => [...line.values])],
      element,
    )
    drawn.current = plot
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }))
    resized.observe(element)
    return () => {
      resized.disconnect()
      plot.destroy()
      drawn.current = null
    }
  }, [times, lines, shown, isEmpty])
  const toMoment = (index: number | null) => {
    const plot = drawn.current
    const left = index === null ? -1 : (plot?.valToPos(times[index] ?? 0, 'x') ?? -1)
    plot?.setCursor({ left, top: index === null ? -1 : 0 })
    setAt(index)
  }
  const press = (event: KeyboardEvent) => {
    const next = stepOf(event.key, at, measured(lines))
    if (next === undefined) return
    event.preventDefault()
    toMoment(next)
  }
  const when = at === null ? undefined : times[at]
  const valueAt = ({ values }: Line) => (at === null ? undefined : textOf(values[at], form))
  const told =
    when === undefined ? '' : `${moment(when * 1000)}: ${list(lines.map(one => `${one.label} ${valueAt(one)}`))}`
  return (
    <figure class="plot">
      <figcaption>
        <strong>{title}</strong>
        <span class="muted">{when === undefined ? '' : moment(when * 1000)}</span>
        <ul>
          {lines.map((line, index) => (
            <li key={line.label}>
              <span class={`swatch n${index + 1}`} aria-hidden="true" />
              {line.label} <b>{valueAt(line) ?? textOf(line.of(line.values), form)}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      {isEmpty ? (
        <p class="nothing">{adminTexts.value.overview.nothing}</p>
      ) : (
        <>
          <div
            ref={place}
            class="canvas"
            role="slider"
            tabIndex={0}
            aria-label={adminTexts.value.overview.along(title)}
            aria-valuemin={0}
            aria-valuemax={Math.max(times.length - 1, 0)}
            aria-valuenow={at ?? 0}
            aria-valuetext={told}
            onKeyDown={press}
            onBlur={() => toMoment(null)}
          />
          <PlotTable {...{ title, times, lines, form }} />
        </>
      )}
    </figure>
  )
}

/** A value as people read it; there is none where nothing was measured. */
function textOf(value: number | null | undefined, form: (value: number) => string): string {
  return value === null || value === undefined ? '–' : form(value)
}

/** How many moments Page Up and Page Down go. */
const pageSteps = 10

/** The first and the last moment of which there is a value. */
function measured(lines: readonly Line[]): readonly [number, number] | undefined {
  const known = lines.flatMap(({ values }) => {
    const first = values.findIndex(value => value !== null)
    return first < 0 ? [] : [first, values.findLastIndex(value => value !== null)]
  })
  return known.length === 0 ? undefined : [Math.min(...known), Math.max(...known)]
}

/** Where a key leads; null out of the plot, undefined where it means nothing here. Time runs from the left in every language. */
function stepOf(
  key: string,
  at: number | null,
  range: readonly [number, number] | undefined,
): number | null | undefined {
  if (range === undefined) return undefined
  const [first, last] = range
  const from = at ?? last + 1
  const to: Record<string, number> = {
    ...{ ArrowLeft: from - 1, ArrowRight: from + 1, PageUp: from - pageSteps, PageDown: from + pageSteps },
    ...{ Home: first, End: last },
  }
  if (key === 'Escape') return at === null ? undefined : null
  const next = to[key]
  return next === undefined ? undefined : Math.min(last, Math.max(first, next))
}

/** What the system has, where the page follows it. */
const darkness = matchMedia('(prefers-color-scheme: dark)')
const isDark = signal(darkness.matches)
darkness.addEventListener('change', ({ matches }) => {
  isDark.value = matches
})

function optionsOf(
  element: HTMLElement,
  lines: readonly Line[],
  form: (value: number) => string,
  steps: Steps,
): uPlot.Options {
  const style = getComputedStyle(element)
  // As the browser has worked them out: a canvas knows nothing of the page's own names for colours.
  const colours = [...(element.parentElement?.querySelectorAll('.swatch') ?? [])].map(
    one => getComputedStyle(one).backgroundColor,
  )
  const grid = { stroke: style.borderTopColor, width: 1 }
  const axis = { stroke: style.color, grid, ticks: { show: false }, font: `12px ${style.fontFamily}` }
  const code = locale()
  return {
    ...{ width: element.clientWidth, height },
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _low, high) => [0, Math.max(high * 1.1, steps.least)] } },
    axes: [
      {
        ...axis,
        size: timeAxisHeight,
        space: timeSpace,
        values: (_plot, ticks) => ticks.map(tick => tickOf(tick, ticks, code)),
      },
      {
        ...axis,
        size: valueAxisWidth,
        incrs: stepsOf(steps),
        values: (_plot, ticks) => ticks.map(tick => form(tick)),
      },
    ],
    series: [
      {},
      ...lines.map((line, index) => ({
        label: line.label,
        stroke: colours[index] ?? style.color,
        width: 2,
        // A line of one moment is none.
        points: { show: true, size: 4, filter: alone },
        spanGaps: false,
      })),
    ],
  }
}

/** 1, 2, 5, 10 … times the least, or 1, 2, 4, 8 … of it. */
function stepsOf({ least, base }: Steps): number[] {
  const parts = base === 10 ? [1, 2, 5] : [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
  return Array.from({ length: stepPowers }, (_, power) => parts.map(part => part * least * base ** power)).flat()
}

/** Moments without one before and after them. */
function alone(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? []
  const isKnown = (index: number) => typeof values[index] === 'number'
  return [...values.keys()].filter(index => isKnown(index) && !isKnown(index - 1) && !isKnown(index + 1))
}

/** Pixels between two times at least, so that they do not run into each other. */
const timeSpace = 90

/** From one to more than anything here comes to. */
const stepPowers = 6

const daySeconds = 86_400

/** The day where ticks are days, else the time of day. */
function tickOf(tick: number, ticks: readonly number[], code: string): string {
  const span = (ticks[1] ?? tick) - (ticks[0] ?? tick)
  const form: Intl.DateTimeFormatOptions =
    span >= daySeconds ? { day: 'numeric', month: 'short' } : { hour: '2-digit', minute: '2-digit' }
  return new Intl.DateTimeFormat(code, form).format(tick * 1000)
}
