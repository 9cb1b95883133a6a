// What pages are put together from: a page with its heading, cards, rows of facts, lists, states of what is being loaded.
//
// Nothing here asks the service. A list is a table for who hears it and becomes cards in a narrow window.

import type { ComponentChildren } from 'preact'
import { baseTexts } from '../texts/texts.ts'
import { Icon, type IconName } from './icon.tsx'
import { percent } from './language.ts'
import { plainDomain, shownSigns } from './names.ts'
import { explain } from './notice.tsx'
import type { Resource } from './resource.ts'

type Children = { readonly children?: ComponentChildren }

/** A page: its heading, what it is for, buttons beside that, and what is on it. */
export function Page({
  title,
  lead,
  actions,
  children,
}: Children & {
  readonly title: string
  readonly lead?: ComponentChildren
  readonly actions?: ComponentChildren
}) {
  return (
    <article class="page">
      <header class="page-head">
        <div>
          <h1>{shownSigns(title)}</h1>
          {lead !== undefined && <p class="lead">{lead}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </article>
  )
}

export function Card({
  title,
  text,
  actions,
  children,
}: Children & {
  readonly title?: string
  readonly text?: ComponentChildren
  readonly actions?: ComponentChildren
}) {
  return (
    <section class="card">
      {(title !== undefined || actions !== undefined) && (
        <header>
          <div>
            {title !== undefined && <h2>{title}</h2>}
            {text !== undefined && <p class="hint">{text}</p>}
          </div>
          {actions !== undefined && <div class="actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  )
}

/** Facts by name. */
export function Facts({ children }: Children) {
  return <dl class="facts">{children}</dl>
}

export function Fact({ name, children }: Children & { readonly name: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** Waits for a resource: shows that it is loading, why it failed, or `children` of it. */
export function Loaded<T>({
  of,
  page,
  children,
}: {
  readonly of: Resource<T>
  /** The heading of a page that has none until its subject is here. */
  readonly page?: string
  readonly children: (data: T) => ComponentChildren
}) {
  const texts = baseTexts.value
  if (of.data !== undefined) return <>{children(of.data)}</>
  const state =
    of.error === undefined ? (
      <div class="state" role="status">
        <span class="spinner" aria-hidden="true" />
        <p>{texts.loading}</p>
      </div>
    ) : (
      <div class="state failed" role="alert">
        <Icon name="alert" />
        <p>{explain(of.error)}</p>
        <button type="button" onClick={() => void of.reload()}>
          {texts.again}
        </button>
      </div>
    )
  return page === undefined ? state : <Page title={page}>{state}</Page>
}

/** Where there is nothing yet: what would be here, and how to begin. */
export function Empty({ icon, title, children }: Children & { readonly icon: IconName; readonly title: string }) {
  return (
    <div class="state">
      <Icon name={icon} />
      <p class="title">{title}</p>
      {children}
    </div>
  )
}

export function Badge({ kind = 'plain', children }: Children & { readonly kind?: 'plain' | 'good' | 'warn' | 'bad' }) {
  return <span class={`badge ${kind}`}>{children}</span>
}

/** What a stranger said: text that stands by itself, with signs that cannot be seen, or turn it round, by their numbers. */
export function Told({ text, class: name }: { readonly text: string; readonly class?: string }) {
  return <bdi class={name}>{shownSigns(text)}</bdi>
}

/** A domain, or an address in one: with what programs write for it where its letters may be taken for others. */
export function Located({
  text,
  class: name,
  href,
}: {
  readonly text: string
  readonly class?: string
  /** Where it leads. */
  readonly href?: string
}) {
  const plain = plainDomain(text)
  const shown = (
    <bdi class={name} dir={plain === null ? undefined : 'ltr'}>
      {shownSigns(text)}
    </bdi>
  )
  const reached = href === undefined ? shown : <a href={href}>{shown}</a>
  if (plain === null) return reached
  return (
    <span class="located">
      {reached}{' '}
      <bdi class="code muted" dir="ltr">
        {plain}
      </bdi>
    </span>
  )
}

/** How much of something is used; said in words beside it. */
export function Meter({
  used,
  allowed,
  label,
  isProgress = false,
}: {
  readonly used: number
  readonly allowed: number
  readonly label: string
  /** Of something that is to be full. */
  readonly isProgress?: boolean
}) {
  const part = allowed === 0 ? 0 : Math.min(1, used / allowed)
  const kind = isProgress ? '' : part > 0.95 ? ' bad' : part > 0.8 ? ' warn' : ''
  return (
    <div>
      <meter class="unseen" aria-label={label} value={part}>
        {percent(part)}
      </meter>
      <div class={`meter${kind}`} aria-hidden="true">
        <span style={{ inlineSize: `${Math.max(part * 100, used > 0 ? 1 : 0)}%` }} />
      </div>
    </div>
  )
}

export interface Column<Row> {
  readonly title: string
  /** What stands in it. */
  cell(row: Row): ComponentChildren
  /** Numbers and dates stand at the end. */
  readonly atEnd?: boolean
}

/** Rows of one kind; the first column names the row. */
export function Table<Row>({
  label,
  columns,
  rows,
  id,
  actions,
}: {
  /** Of the whole, for who does not see it. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** Tells rows apart. */
  id(row: Row): string | number
  /** Buttons of a row. */
  readonly actions?: (row: Row) => ComponentChildren
}) {
  return (
    <table class="list" aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ title, atEnd }) => (
            <th key={title} scope="col" class={atEnd === true ? 'end' : undefined}>
              {title}
            </th>
          ))}
          {actions !== undefined && (
            <th scope="col">
              <span class="unseen">{baseTexts.value.actions}</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map(row => (
          <tr key={id(row)}>
            {columns.map(({ title, cell, atEnd }, index) =>
              index === 0 ? (
                <th key={title} scope="row">
                  {cell(row)}
                </th>
              ) : (
                <td key={title} data-title={title} class={atEnd === true ? 'end' : undefined}>
                  {cell(row)}
                </td>
              ),
            )}
            {actions !== undefined && <td class="row-actions">{actions(row)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** A button that shows a picture alone; `label` says what it does. */
export function IconButton({
  icon,
  label,
  onClick,
  danger = false,
  disabled = false,
  class: more = '',
}: {
  readonly icon: IconName
  readonly label: string
  onClick(): void
  readonly danger?: boolean
  readonly disabled?: boolean
  readonly class?: string
}) {
  return (
    <button
      type="button"
      class={`plain${danger ? ' danger' : ''}${more === '' ? '' : ` ${more}`}`}
      aria-label={label}
      title={label}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  )
}
