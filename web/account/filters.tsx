// Filters: what is done with mail as it arrives. A list in the order in which they are tried, and a form for each.
//
// Whether one is switched on and its place are changed in the list, the place by buttons or by dragging; everything else in the form
// (filter-form.tsx).

import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { call, type Reply } from '../base/client.ts'
import { ask } from '../base/dialog.tsx'
import { Icon } from '../base/icon.tsx'
import { bytes, list } from '../base/language.ts'
import { done, failed } from '../base/notice.tsx'
import { Badge, Card, Empty, IconButton, Loaded, Page } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { owner } from '../base/session.ts'
import { baseTexts } from '../texts/texts.ts'
import { FilterDialog } from './filter-form.tsx'
import { folderName } from './folder-name.ts'
import { accountTexts } from './texts/texts.ts'

export type Filter = Reply<'GET /users/:user/filters'>['results'][number]
export type Folders = Reply<'GET /users/:user/mailboxes'>['results']

export function FiltersPage() {
  const texts = accountTexts.value.filters
  const params = { user: owner().id }
  const filters = useCall('GET /users/:user/filters', { params })
  const folders = useCall('GET /users/:user/mailboxes', { params })
  const edited = useSignal<Filter | 'new' | null>(null)
  const close = () => {
    edited.value = null
  }
  const add = (
    <button
      type="button"
      class="primary"
      onClick={() => {
        edited.value = 'new'
      }}
    >
      <Icon name="plus" />
      {texts.add}
    </button>
  )
  return (
    <Page title={texts.title} lead={texts.lead} actions={add}>
      <Card>
        <Loaded of={filters}>
          {({ results }) =>
            results.length === 0 ? (
              <Empty icon="filter" title={texts.none}>
                <p>{texts.noneText}</p>
              </Empty>
            ) : (
              <Lines
                filters={results}
                folders={folders.data?.results ?? []}
                onOrder={async ordered => {
                  filters.show({ ...(filters.data as Reply<'GET /users/:user/filters'>), results: ordered })
                  try {
                    await call('PUT /users/:user/filters/order', {
                      params,
                      body: { filters: ordered.map(({ id }) => id) },
                    })
                  } catch (error) {
                    failed(error)
                    await filters.reload()
                  }
                }}
                onChanged={() => void filters.reload()}
                onEdit={filter => {
                  edited.value = filter
                }}
              />
            )
          }
        </Loaded>
      </Card>
      {edited.value !== null && folders.data !== undefined && (
        <FilterDialog
          filter={edited.value === 'new' ? null : edited.value}
          folders={folders.data.results}
          onClose={close}
          onSaved={() => {
            close()
            void filters.reload()
            done(baseTexts.value.saved)
          }}
        />
      )}
    </Page>
  )
}

interface LinesProps {
  readonly filters: readonly Filter[]
  readonly folders: Folders
  onOrder(ordered: Filter[]): Promise<void>
  onChanged(): void
  onEdit(filter: Filter): void
}

/** The filters in their order, and what becomes of it. */
function Lines({ filters, folders, onOrder, onChanged, onEdit }: LinesProps) {
  const texts = accountTexts.value.filters
  const list = useRef<HTMLOListElement>(null)
  const moved = useSignal<{ id: string; to: 'up' | 'down' } | null>(null)
  const said = useSignal('')
  const dragged = useSignal<string | null>(null)
  const move = (from: number, to: number) => {
    const filter = filters[from]
    if (filter === undefined || from === to || to < 0 || to >= filters.length) return
    moved.value = { id: filter.id, to: to < from ? 'up' : 'down' }
    said.value = texts.placed(filter.name || texts.unnamed, to + 1, filters.length)
    void onOrder(filters.toSpliced(from, 1).toSpliced(to, 0, filter))
  }
  // A line that moves loses the focus: it goes back to the button that was pressed, or the other one at an end.
  useLayoutEffect(() => {
    if (moved.value === null) return
    const line = list.current?.querySelector(`[data-filter="${moved.value.id}"]`)
    const [first, second] = moved.value.to === 'up' ? ['up', 'down'] : ['down', 'up']
    const wanted = line?.querySelector<HTMLElement>(`.move-${first}:enabled`)
    const button = wanted ?? line?.querySelector<HTMLElement>(`.move-${second}:enabled`)
    button?.focus()
    moved.value = null
  }, [filters])
  return (
    <>
      <ol ref={list} class="lines">
        {filters.map((filter, at) => (
          <Line
            key={filter.id}
            {...{ filter, folders, onChanged }}
            place={{ at, of: filters.length, isOver: dragged.value !== null && dragged.value !== filter.id }}
            onEdit={() => onEdit(filter)}
            onMove={by => move(at, at + by)}
            onDrag={isBegin => {
              dragged.value = isBegin ? filter.id : null
            }}
            onDrop={() => {
              const from = filters.findIndex(({ id }) => id === dragged.value)
              dragged.value = null
              move(from, at)
            }}
          />
        ))}
      </ol>
      <p class="unseen" role="status">
        {said.value}
      </p>
    </>
  )
}

interface LineProps {
  readonly filter: Filter
  readonly folders: Folders
  /** Where it stands, and whether another one may be dropped there. */
  readonly place: { readonly at: number; readonly of: number; readonly isOver: boolean }
  onChanged(): void
  onEdit(): void
  onMove(by: 1 | -1): void
  onDrag(isBegin: boolean): void
  onDrop(): void
}

function Line({ filter, folders, place, onChanged, onEdit, onMove, onDrag, onDrop }: LineProps) {
  const texts = accountTexts.value.filters
  const name = filter.name || texts.unnamed
  const params = { user: owner().id, filter: filter.id }
  const remove = async () => {
    const asked = {
      title: texts.removeTitle(name),
      text: texts.removeText,
      action: baseTexts.value.remove,
      danger: true,
    }
    if (!(await ask(asked))) return
    await call('DELETE /users/:user/filters/:filter', { params })
    onChanged()
    done(texts.removed)
  }
  const flip = async () => {
    await call('PUT /users/:user/filters/:filter', { params, body: { disabled: !filter.disabled } })
    onChanged()
  }
  return (
    <li
      data-filter={filter.id}
      draggable={place.of > 1}
      onDragStart={event => {
        event.dataTransfer?.setData('text/plain', name)
        onDrag(true)
      }}
      onDragEnd={() => onDrag(false)}
      onDragOver={event => {
        if (place.isOver) event.preventDefault()
      }}
      onDrop={event => {
        if (!place.isOver) return
        event.preventDefault()
        onDrop()
      }}
    >
      {place.of > 1 && (
        <span class="move">
          <IconButton
            icon="up"
            label={`${texts.up}: ${name}`}
            class="move-up"
            disabled={place.at === 0}
            onClick={() => onMove(-1)}
          />
          <IconButton
            icon="down"
            label={`${texts.down}: ${name}`}
            class="move-down"
            disabled={place.at === place.of - 1}
            onClick={() => onMove(1)}
          />
        </span>
      )}
      <span class="about grow">
        <span class="what">
          <strong>
            <bdi>{name}</bdi>
          </strong>
          {filter.disabled && <Badge kind="warn">{texts.disabled}</Badge>}
        </span>
        <span class="hint">{texts.condition(list(conditions(filter)))}</span>
        <span class="hint">{texts.action(list(actions(filter, folders)))}</span>
      </span>
      <span class="actions">
        <button type="button" onClick={() => void flip().catch(failed)}>
          {filter.disabled ? texts.enable : texts.disable}
        </button>
        <IconButton icon="edit" label={`${baseTexts.value.edit}: ${name}`} onClick={onEdit} />
        <IconButton
          icon="trash"
          label={`${baseTexts.value.remove}: ${name}`}
          onClick={() => void remove().catch(failed)}
        />
      </span>
    </li>
  )
}

function conditions({ originalQuery: { ha, size, ...texts } }: Filter): string[] {
  const { fields, has, hasNot, larger, smaller, all } = accountTexts.value.filters
  const said = (['from', 'to', 'subject', 'text', 'listId'] as const).flatMap(key => {
    const value = texts[key]
    return value ? [`${fields[key]} “${value}”`] : []
  })
  if (ha !== undefined) said.push(ha ? has : hasNot)
  if (size !== undefined && size !== 0) said.push(size > 0 ? larger(bytes(size)) : smaller(bytes(-size)))
  return said.length === 0 ? [all] : said
}

function actions({ originalAction: action }: Filter, folders: Folders): string[] {
  const texts = accountTexts.value.filters
  const folder = folders.find(({ id }) => id === action.mailbox)
  return [
    ...(folder === undefined ? [] : [texts.moved(folderName(folder))]),
    ...(action.seen === true ? [texts.seen] : []),
    ...(action.flag === true ? [texts.flag] : []),
    ...(action.spam === undefined ? [] : [action.spam ? texts.spam : texts.noSpam]),
    ...(action.delete === true ? [texts.delete] : []),
    ...(action.targets ?? []).map(texts.sent),
  ]
}
