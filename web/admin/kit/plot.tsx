// A plot over time: lines in the colours of the page, with what they sum up to in words for those who cannot see them.
//
// It follows the width of its place, the theme and the language. Nothing is asked of any other host.

import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { language } from '../../base/language.ts'
import { theme } from '../../base/theme.ts'

export interface Line {
  readonly label: string
  readonly values: readonly (number | null)[]
  /** What it comes to, in words. */
  readonly sum: string
}

interface PlotProps {
  readonly title: string
  /** Seconds since 1970. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  /** A value as people read it. */
  form(value: number): string
}

const height = 190
const timeAxisHeight = 26
const valueAxisWidth = 60

export function Plot({ title, times, lines, form }: PlotProps) {
  const place = useRef<HTMLDivElement>(null)
  const shown = `${language.value} ${theme.value} ${isDark.value}`
  useEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const plot = new uPlot(
      optionsOf(element, lines, form),
      [[...times], ...lines.map(line => [...line.values])],
      element,
    )
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }))
    resized.observe(element)
    return () => {
      resized.disconnect()
      plot.destroy()
    }
  }, [times, lines, shown])
  return (
    <figure class="plot">
      <figcaption>
        <strong>{title}</strong>
        <ul>
          {lines.map(({ label, sum }, index) => (
            <li key={label}>
              <span class={`swatch n${index + 1}`} aria-hidden="true" />
              {label} <b>{sum}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <div ref={place} class="canvas" aria-hidden="true" />
    </figure>
  )
}

/** What the system has, where the page follows it. */
const darkness = matchMedia('(prefers-color-scheme: dark)')
const isDark = signal(darkness.matches)
darkness.addEventListener('change', ({ matches }) => {
  isDark.value = matches
})

function optionsOf(element: HTMLElement, lines: readonly Line[], form: (value: number) => string): uPlot.Options {
  const style = getComputedStyle(element)
  // As the browser has worked them out: a canvas knows nothing of the page's own names for colours.
  const colours = [...(element.parentElement?.querySelectorAll('.swatch') ?? [])].map(
    one => getComputedStyle(one).backgroundColor,
  )
  const grid = { stroke: style.borderTopColor, width: 1 }
  const axis = { stroke: style.color, grid, ticks: { show: false }, font: `12px ${style.fontFamily}` }
  const code = language.value
  return {
    ...{ width: element.clientWidth, height },
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _low, high) => [0, Math.max(high * 1.1, 1)] } },
    axes: [
      {
        ...axis,
        size: timeAxisHeight,
        space: timeSpace,
        values: (_plot, ticks) => ticks.map(tick => tickOf(tick, ticks, code)),
      },
      { ...axis, size: valueAxisWidth, values: (_plot, ticks) => ticks.map(tick => form(tick)) },
    ],
    series: [
      {},
      ...lines.map((line, index) => ({
        label: line.label,
        stroke: colours[index] ?? style.color,
        width: 2,
        points: { show: false },
        spanGaps: false,
      })),
    ],
  }
}

/** Pixels between two times at least, so that they do not run into each other. */
const timeSpace = 90

const daySeconds = 86_400

/** The day where ticks are days, else the time of day. */
function tickOf(tick: number, ticks: readonly number[], code: string): string {
  const span = (ticks[1] ?? tick) - (ticks[0] ?? tick)
  const form: Intl.DateTimeFormatOptions =
    span >= daySeconds ? { day: 'numeric', month: 'short' } : { hour: '2-digit', minute: '2-digit' }
  return new Intl.DateTimeFormat(code, form).format(tick * 1000)
}
