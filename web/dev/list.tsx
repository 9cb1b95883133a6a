// The list of what arrived: rows of one height, of which only those in view are there; boxes beside them tick several.
//
// Where it is scrolled to is known with the lines (inbox.ts), so that what is seen stays where it is when something comes above.

import { useLayoutEffect, useRef } from 'preact/hooks'
import { ask } from '../base/dialog.tsx'
import { Icon } from '../base/icon.tsx'
import { bytes, locale, number } from '../base/language.ts'
import { baseTexts } from '../texts/texts.ts'
import {
  act,
  attach,
  choose,
  chosen,
  frame,
  lineAt,
  lines,
  live,
  measure,
  query,
  rowHeight,
  search,
  seen,
  settle,
  ticked,
} from './inbox.ts'
import { SpamBadge } from './judged.tsx'
import { TagField } from './tags.tsx'
import { devTexts } from './texts/texts.ts'

const beyond = 6

export function List() {
  const texts = devTexts.value
  const box = useRef<HTMLElement>(null)
  const now = lines.value
  const found = now?.found ?? 0
  const { top } = frame.value
  const { first, last } = seen()
  useLayoutEffect(() => {
    attach(box.current)
    const watcher = new ResizeObserver(measure)
    if (box.current !== null) watcher.observe(box.current)
    return () => {
      watcher.disconnect()
      attach(null)
    }
  }, [])
  // The rows are those of this place already: nothing is seen of the way there.
  useLayoutEffect(settle, [top, found])
  const begin = Math.max(0, first - beyond)
  const end = Math.min(found, last + beyond)
  return (
    <>
      <Bar />
      <section ref={box} id="list" onScroll={measure} aria-label={texts.mails}>
        {now !== undefined && found === 0 && (
          <p class="state">{now.total === 0 ? texts.nothingYet : texts.nothingFound}</p>
        )}
        {now === undefined && live.value === 'off' && <p class="state failed">{texts.notReachable}</p>}
        <ul style={{ blockSize: `${found * rowHeight}px` }}>
          {Array.from({ length: Math.max(0, end - begin) }, (_, at) => (
            <Row key={lineAt(begin + at)?.id ?? begin + at} index={begin + at} total={found} />
          ))}
        </ul>
      </section>
    </>
  )
}

function Row({ index, total }: { readonly index: number; readonly total: number }) {
  const texts = devTexts.value
  const line = lineAt(index)
  const style = { insetBlockStart: `${index * rowHeight}px`, blockSize: `${rowHeight}px` }
  if (line === undefined) return <li class="waiting" style={style} aria-hidden="true" />
  const { id, subject, envelope, read, attachments, size, tags, snippet, spam } = line
  const isChosen = id === chosen.value
  const shown = subject || texts.noSubject
  return (
    <li
      class={`${read ? '' : 'unread'}${isChosen ? ' chosen' : ''}`}
      style={style}
      aria-setsize={total}
      aria-posinset={index + 1}
    >
      <input
        type="checkbox"
        checked={ticked.value.has(id)}
        aria-label={texts.tick(shown)}
        onChange={event => {
          const next = new Set(ticked.value)
          if (event.currentTarget.checked) next.add(id)
          else next.delete(id)
          ticked.value = next
        }}
      />
      <button type="button" class="row" aria-current={isChosen ? 'true' : undefined} onClick={() => choose(id, index)}>
        <span class="first">
          <bdi class="subject">{shown}</bdi>
          <span class="at">{timeOf(line.arrived)}</span>
        </span>
        <span class="second">
          <bdi class="people" dir="ltr">
            {envelope.from || '<>'} → {envelope.to.join(', ')}
          </bdi>
          <span class="at">
            {attachments > 0 && `${texts.files(attachments)}, `}
            {bytes(size)}
          </span>
        </span>
        <span class="second">
          <bdi class="people">{snippet}</bdi>
          <SpamBadge points={spam} />
          {tags.slice(0, 3).map(tag => (
            <bdi key={tag} class="badge">
              {tag}
            </bdi>
          ))}
        </span>
      </button>
    </li>
  )
}

function timeOf(at: number): string {
  return new Intl.DateTimeFormat(locale(), { timeStyle: 'medium' }).format(at)
}

/** What is there, and what can be done with those that are ticked or found. */
function Bar() {
  const texts = devTexts.value
  const now = lines.value
  const ids = [...ticked.value]
  const isSearch = query.value.trim() !== ''
  const found = now?.found ?? 0
  const done = () => {
    ticked.value = new Set()
  }
  if (ids.length > 0)
    return (
      <fieldset class="bar" aria-label={texts.ticked(ids.length)}>
        <strong>{texts.ticked(ids.length)}</strong>
        <button type="button" onClick={() => act('PUT', { ids, read: true }).then(done)}>
          {texts.markRead}
        </button>
        <button type="button" onClick={() => act('PUT', { ids, read: false }).then(done)}>
          {texts.markUnread}
        </button>
        <button type="button" class="danger" onClick={() => act('DELETE', { ids }).then(done)}>
          {texts.delete}
        </button>
        <button type="button" onClick={done}>
          {baseTexts.value.cancel}
        </button>
        <TagField label={texts.tags} tags={[]} set={tags => act('PUT', { ids, tags })} />
      </fieldset>
    )
  const removeFound = async () => {
    const question = { title: texts.deleteFound(found), text: texts.deleteText, action: texts.delete, danger: true }
    if (await ask(question)) await act('DELETE', { query: query.value.trim() })
  }
  return (
    <div class="bar">
      <span role="status">
        {now === undefined ? '' : isSearch ? texts.foundOf(found, now.total) : texts.countOf(now.total, now.unread)}
      </span>
      {!isSearch && (now?.unread ?? 0) > 0 && (
        <button type="button" class="link" onClick={() => act('PUT', { query: 'is:unread', read: true })}>
          {texts.markAllRead}
        </button>
      )}
      {isSearch && found > 0 && (
        <button type="button" class="link danger" onClick={removeFound}>
          {texts.deleteFound(found)}
        </button>
      )}
      {(now?.tags ?? []).slice(0, 12).map(({ name, count }) => (
        <button
          key={name}
          type="button"
          class="tag"
          aria-pressed={query.value === tagQuery(name)}
          onClick={() => search(query.value === tagQuery(name) ? '' : tagQuery(name))}
        >
          <Icon name="filter" />
          <bdi>{name}</bdi> {number(count)}
        </button>
      ))}
    </div>
  )
}

function tagQuery(name: string): string {
  return name.includes(' ') ? `tag:"${name}"` : `tag:${name}`
}
