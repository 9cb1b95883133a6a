// The list of messages: rows of one height, of which only those in view are there, so that 300,000 are no more than thirty.
//
// What is scrolled to stays where it is when something comes or goes above. Each row is a link that has an address; boxes beside
// it select.

import { signal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Icon, type IconName } from '../../base/icon.tsx'
import { language, number } from '../../base/language.ts'
import { explain } from '../../base/notice.tsx'
import { at } from '../../base/router.ts'
import { moveFor, type Place, placesOf, remove, setFlag } from '../actions.ts'
import { withWords } from '../addresses.ts'
import { personName, shownName } from '../names.ts'
import { folderName, folderOf, type Row } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import type { MessageList } from './message-list.ts'
import { MoveMenu } from './move-menu.tsx'

/** What is being dragged. */
export const dragged = signal<readonly Place[]>([])

/** Pixels. */
export const rowHeight = 72
const spare = 8

interface Props {
  readonly list: MessageList
  readonly folder: string
  readonly q: string
  /** `mailbox:uid` of the message that is read. */
  readonly current: string
  open(row: Row | undefined): void
}

export function List({ list, folder, q, current, open }: Props) {
  const texts = mailTexts.value
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: list.scrollTop, height: 800 })
  const total = list.total.value
  // What is shown follows the rows as they come.
  void list.version.value
  const first = Math.max(0, Math.floor(view.top / rowHeight) - spare)
  const last = Math.min(Math.max(total, 1) - 1, Math.ceil((view.top + view.height) / rowHeight) + spare)
  useEffect(() => list.want(Math.floor(view.top / rowHeight), last), [list, view.top, last])
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    element.scrollTop = list.scrollTop
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight })
    const watcher = new ResizeObserver(measure)
    watcher.observe(element)
    return () => watcher.disconnect()
  }, [list])
  const moved = list.moved.value
  useLayoutEffect(() => {
    if (moved === 0 || box.current === null) return
    box.current.scrollTop += moved * rowHeight
    list.moved.value = 0
  }, [moved])
  const onScroll = () => {
    const element = box.current
    if (element === null) return
    list.scrollTop = element.scrollTop
    setView({ top: element.scrollTop, height: element.clientHeight })
  }
  const indexes = total <= 0 ? [] : Array.from({ length: last - first + 1 }, (_, at) => first + at)
  const failure = list.failure.value
  return (
    <>
      <Toolbar list={list} folder={folder} q={q} />
      <section ref={box} class="mail-list" onScroll={onScroll} aria-label={texts.messages} data-rows={total}>
        {total < 0 && failure === undefined && (
          <div class="state" role="status">
            <span class="spinner" aria-hidden="true" />
          </div>
        )}
        {total < 0 && failure !== undefined && (
          <p class="state failed" role="alert">
            {explain(failure)}
          </p>
        )}
        {total === 0 && <p class="state">{q === '' ? texts.nothingHere : texts.nothingFound}</p>}
        <ul style={{ blockSize: `${Math.max(0, total) * rowHeight}px` }}>
          {indexes.map(index => (
            <Line
              key={index}
              list={list}
              index={index}
              folder={folder}
              q={q}
              current={current}
              total={total}
              open={open}
            />
          ))}
        </ul>
      </section>
    </>
  )
}

interface LineProps extends Props {
  readonly index: number
  readonly total: number
}

function Line({ list, index, folder, q, current, total, open }: LineProps) {
  const texts = mailTexts.value
  // Rows come after the line is there.
  void list.version.value
  const row = list.row(index)
  const style = { insetBlockStart: `${index * rowHeight}px` }
  if (row === undefined) return <li class="mail-row waiting" style={style} aria-hidden="true" />
  const key = `${row.mailbox}:${row.id}`
  const isSelected = list.selected.value.has(key)
  const subject = shownName(row.subject) || texts.noSubject
  const words = { ...(q !== '' && { q }), m: String(row.id), ...(row.mailbox !== folder && { b: row.mailbox }) }
  const classes = ['mail-row', row.seen ? '' : 'unread', isSelected ? 'selected' : '', key === current ? 'current' : '']
  if (list.cursor.value === index) classes.push('cursor')
  const drag = (event: DragEvent) => {
    const rows = isSelected ? selectedPlaces(list) : placesOf([row])
    dragged.value = rows
    event.dataTransfer?.setData('text/plain', subject)
  }
  return (
    <li
      class={classes.filter(Boolean).join(' ')}
      style={style}
      aria-setsize={total}
      aria-posinset={index + 1}
      draggable
      onDragStart={drag}
      onDragEnd={() => {
        dragged.value = []
      }}
    >
      <input
        type="checkbox"
        checked={isSelected}
        aria-label={texts.selectOne(subject)}
        onClick={event => select(list, index, event.shiftKey)}
      />
      <a
        href={at(row.draft ? withWords(folder, words) : withWords(folder, words))}
        aria-current={key === current ? 'true' : undefined}
        onClick={event => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return
          event.preventDefault()
          list.cursor.value = index
          open(row)
        }}
      >
        <RowText row={row} folder={folder} subject={subject} />
      </a>
      <button
        type="button"
        class={row.flagged ? 'plain star on' : 'plain star'}
        aria-pressed={row.flagged}
        aria-label={texts.flag}
        onClick={() => void setFlag(placesOf([row]), { flagged: !row.flagged })}
      >
        ★
      </button>
    </li>
  )
}

function RowText({ row, folder, subject }: { readonly row: Row; readonly folder: string; readonly subject: string }) {
  const texts = mailTexts.value
  const isOwn = ['\\Sent', '\\Drafts'].includes(folderOf(row.mailbox)?.specialUse || '')
  const people = isOwn ? row.to : row.from === undefined ? [] : [row.from]
  const who = people.slice(0, 3).map(personName).join(', ') || texts.nobody
  const elsewhere = row.mailbox === folder ? undefined : folderOf(row.mailbox)
  const count = row.threadMessageCount ?? 1
  return (
    <>
      <span class="line">
        {!row.seen && (
          <span class="dot">
            <span class="unseen">{texts.unseen}: </span>
          </span>
        )}
        <bdi class="who">{who}</bdi>
        {count > 1 && (
          <span class="thread" title={texts.inThread(number(count))}>
            {number(count)}
          </span>
        )}
        <time dateTime={row.idate}>{when(row.idate)}</time>
      </span>
      <span class="line">
        <bdi class="subject">{subject}</bdi>
        {elsewhere !== undefined && <bdi class="tag">{folderName(elsewhere)}</bdi>}
        {row.answered && (
          <span class="mark" role="img" aria-label={texts.wasAnswered}>
            ↩
          </span>
        )}
        {row.attachments && (
          <span class="mark" role="img" aria-label={texts.hasAttachment}>
            <svg viewBox="0 0 24 24" class="icon" aria-hidden="true" focusable="false">
              <path d="M20 11l-8.5 8.5a5 5 0 0 1-7-7L13 4a3.4 3.4 0 0 1 4.8 4.8L9.5 17a1.7 1.7 0 0 1-2.4-2.4L15 6.8" />
            </svg>
          </span>
        )}
      </span>
      <bdi class="intro">{shownName(row.intro)}</bdi>
    </>
  )
}

/** The time of today, else the day. */
function when(at_: string): string {
  const date = new Date(at_)
  const now = new Date()
  const isToday = date.toDateString() === now.toDateString()
  const isThisYear = date.getFullYear() === now.getFullYear()
  const form: Intl.DateTimeFormatOptions = isToday
    ? { timeStyle: 'short' }
    : isThisYear
      ? { day: 'numeric', month: 'short' }
      : { day: 'numeric', month: 'short', year: 'numeric' }
  return new Intl.DateTimeFormat(language.value, form).format(date)
}

let lastSelected = 0

/** Selects a row, or with shift all from the one before. */
export function select(list: MessageList, index: number, isRange: boolean): void {
  const selected = new Set(list.selected.value)
  const rowKey = (at: number) => {
    const row = list.row(at)
    return row === undefined ? undefined : `${row.mailbox}:${row.id}`
  }
  const key = rowKey(index)
  if (key === undefined) return
  const on = !selected.has(key)
  const [from, to] = isRange ? [Math.min(lastSelected, index), Math.max(lastSelected, index)] : [index, index]
  for (let at = from; at <= to; at++) {
    const one = rowKey(at)
    if (one !== undefined && on) selected.add(one)
    else if (one !== undefined) selected.delete(one)
  }
  lastSelected = index
  list.selected.value = selected
}

/** What is selected, by folder. */
export function selectedPlaces(list: MessageList): Place[] {
  const byFolder = Map.groupBy(list.selected.value, key => key.slice(0, key.indexOf(':')))
  return [...byFolder].map(([mailbox, keys]) => ({ mailbox, uids: keys.map(key => Number(key.split(':')[1])) }))
}

function Toolbar({ list, folder, q }: { readonly list: MessageList; readonly folder: string; readonly q: string }) {
  const texts = mailTexts.value
  const count = list.selected.value.size
  const shown = folderOf(folder)
  const act = (run: (places: readonly Place[]) => Promise<void>) => () => {
    const places = selectedPlaces(list)
    list.selected.value = new Set()
    void run(places)
  }
  const isJunk = shown?.specialUse === '\\Junk'
  const total = Math.max(0, list.total.value)
  if (count === 0) {
    return (
      <div class="mail-tools">
        <h2>
          <bdi>{q === '' && shown !== undefined ? folderName(shown) : texts.search}</bdi>
        </h2>
        <span class="hint">{q === '' ? texts.total(number(total)) : texts.found(number(total))}</span>
      </div>
    )
  }
  const button = (icon: IconName, label: string, run: (places: readonly Place[]) => Promise<void>) => (
    <button type="button" class="plain" title={label} aria-label={label} onClick={act(run)}>
      <Icon name={icon} />
    </button>
  )
  return (
    <div class="mail-tools" role="toolbar" aria-label={texts.selected(number(count))}>
      <strong>{texts.selected(number(count))}</strong>
      {button('archive', texts.archive, places => moveFor(places, '\\Archive'))}
      {button('alert', isJunk ? texts.notJunk : texts.junk, places => moveFor(places, isJunk ? 'INBOX' : '\\Junk'))}
      {button('trash', texts.delete, remove)}
      {button('check', texts.markRead, places => setFlag(places, { seen: true }))}
      {button('mail', texts.markUnread, places => setFlag(places, { seen: false }))}
      <MoveMenu act={to => act(places => to(places))()} />
      {button('close', texts.selectNone, async () => {})}
    </div>
  )
}
