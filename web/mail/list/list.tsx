// The list of messages: rows of one height, of which only those in view are there, so that 300,000 are no more than thirty.
//
// What is scrolled to stays where it is when something comes or goes above. Each row is a link that has an address; boxes beside
// it select.

import { signal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Icon } from '../../base/icon.tsx'
import { dateAs, number } from '../../base/language.ts'
import { personName, shownName } from '../../base/names.ts'
import { explain } from '../../base/notice.tsx'
import { at } from '../../base/router.ts'
import { soon } from '../../base/soon.ts'
import { type Place, setFlag } from '../actions.ts'
import { withWords } from '../addresses.ts'
import { folderName, folderOf, type Row } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import type { MessageList } from './message-list.ts'
import { isSelected, placesOf, select, selectedPlaces } from './selection.ts'
import { Toolbar, Working } from './toolbar.tsx'

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
  // Not after the next picture is drawn: the question goes out first.
  useLayoutEffect(() => list.want(Math.floor(view.top / rowHeight), last), [list, view.top, last])
  useEffect(() => () => list.leave(), [list])
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
      <Toolbar list={list} />
      <Working />
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
  const isChosen = isSelected(list, row)
  const { conversation } = row
  const isUnread = conversation === undefined ? !row.seen : conversation.unseen > 0
  const isFlagged = conversation === undefined ? row.flagged : conversation.flagged > 0
  const isOpened = (conversation?.total ?? 1) > 1
  const subject = shownName(row.subject) || texts.noSubject
  const thread = list.of.thread || (isOpened ? row.thread : '')
  const words = {
    ...{ ...(q !== '' && { q }), ...(thread !== '' && { t: thread }), m: String(row.id) },
    ...(row.mailbox !== folder && { b: row.mailbox }),
  }
  const classes = ['mail-row', isUnread ? 'unread' : '', isChosen ? 'selected' : '', key === current ? 'current' : '']
  if (list.cursor.value === index) classes.push('cursor')
  const drag = (event: DragEvent) => {
    const rows = isChosen && !list.isAll.value ? selectedPlaces(list) : placesOf([row])
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
        checked={isChosen}
        aria-label={texts.selectOne(subject)}
        onClick={event => void select(list, row, index, event.shiftKey)}
      />
      <a
        href={at(withWords(folder, words))}
        aria-current={key === current ? 'true' : undefined}
        onClick={event => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return
          event.preventDefault()
          list.cursor.value = index
          open(row)
        }}
      >
        <RowText row={row} folder={folder} subject={subject} isOwed={list.isOwed(row)} />
      </a>
      <button
        type="button"
        class={isFlagged ? 'plain star on' : 'plain star'}
        aria-pressed={isFlagged}
        aria-label={texts.flag}
        onClick={() => void setFlag(placesOf([row]), { flagged: !isFlagged })}
      >
        <Icon name="star" />
      </button>
    </li>
  )
}

interface RowTextProps {
  readonly row: Row
  readonly folder: string
  readonly subject: string
  /** It is to come here and is not yet. */
  readonly isOwed: boolean
}

function RowText({ row, folder, subject, isOwed }: RowTextProps) {
  const texts = mailTexts.value
  const isOwn = ['\\Sent', '\\Drafts'].includes(folderOf(row.mailbox)?.specialUse || '')
  const people = isOwn ? row.to : row.from === undefined ? [] : [row.from]
  const who = people.slice(0, 3).map(personName).join(', ') || texts.nobody
  const elsewhere = row.mailbox === folder ? undefined : folderOf(row.mailbox)
  const count = row.conversation?.total ?? 1
  const isUnread = row.conversation === undefined ? !row.seen : row.conversation.unseen > 0
  return (
    <>
      <span class="line">
        {isUnread && (
          <span class="dot">
            <span class="unseen">{texts.unseen}: </span>
          </span>
        )}
        <bdi class="who">{who}</bdi>
        {count > 1 && (
          <span class="thread" title={texts.inThread(number(count))}>
            <span aria-hidden="true">{number(count)}</span>
            <span class="unseen">{texts.inThread(number(count))}</span>
          </span>
        )}
        <time dateTime={row.idate}>{when(row.idate)}</time>
      </span>
      <span class="line">
        <bdi class="subject">{subject}</bdi>
        {isOwed && <span class="tag">{texts.owed.waits}</span>}
        {!isOwed && elsewhere !== undefined && <bdi class="tag">{folderName(elsewhere)}</bdi>}
        {row.answered && (
          <span class="mark" role="img" aria-label={texts.wasAnswered}>
            <Icon name="reply" />
          </span>
        )}
        {row.attachments && (
          <span class="mark" role="img" aria-label={texts.hasAttachment}>
            <Icon name="clip" />
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
  if (date.toDateString() === now.toDateString()) return dateAs(date, forms.today)
  return dateAs(date, date.getFullYear() === now.getFullYear() ? forms.thisYear : forms.before)
}

const forms = {
  today: { timeStyle: 'short' },
  thisYear: { day: 'numeric', month: 'short' },
  before: { day: 'numeric', month: 'short', year: 'numeric' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>

// The first of its form takes browsers as long as all rows do: it is made while somebody signs in.
soon(() => {
  for (const form of Object.values(forms)) dateAs(0, form)
  number(0)
})
