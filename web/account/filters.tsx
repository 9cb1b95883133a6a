// Filters: what is done with mail as it arrives. A list in the order in which they are tried, and a form for each.
//
// Whether one is switched on is changed in the list; everything else in the form (filter-form.tsx).

import { useSignal } from '@preact/signals'
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
              <ol class="lines">
                {results.map(filter => (
                  <Line
                    key={filter.id}
                    filter={filter}
                    folders={folders.data?.results ?? []}
                    onChanged={() => void filters.reload()}
                    onEdit={() => {
                      edited.value = filter
                    }}
                  />
                ))}
              </ol>
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

function Line({
  filter,
  folders,
  onChanged,
  onEdit,
}: {
  readonly filter: Filter
  readonly folders: Folders
  onChanged(): void
  onEdit(): void
}) {
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
    <li>
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
    ...(folder === undefined ? [] : [texts.moved(folder.path)]),
    ...(action.seen === true ? [texts.seen] : []),
    ...(action.flag === true ? [texts.flag] : []),
    ...(action.spam === undefined ? [] : [action.spam ? texts.spam : texts.noSpam]),
    ...(action.delete === true ? [texts.delete] : []),
    ...(action.targets ?? []).map(texts.sent),
  ]
}
