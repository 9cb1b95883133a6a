// The contacts of the account: found as one types, by group, added, changed, made one, deleted, brought and taken along as vCards.
//
// Rows come a page at a time as somebody scrolls on, and those out of sight are not drawn, so that ten thousand cost no more than ten.

import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { addressOf, call } from '../base/client.ts'
import { ask, Dialog } from '../base/dialog.tsx'
import { Icon } from '../base/icon.tsx'
import { number } from '../base/language.ts'
import { done, failed } from '../base/notice.tsx'
import { Badge, Card, Empty, Page } from '../base/parts.tsx'
import { at } from '../base/router.ts'
import { ContactDialog } from './contact-form.tsx'
import { merge } from './merge.ts'
import { Search } from './search.tsx'
import { type Contact, contacts, group, groups, load, more, query, selected, total, user } from './store.ts'
import { contactTexts } from './texts/texts.ts'

export function ContactsPage() {
  const texts = contactTexts.value
  const opened = useSignal<Partial<Contact> | null>(null)
  const isFiling = useSignal(false)
  useEffect(() => {
    query.value = ''
    group.value = ''
    void load()
  }, [])
  const all = contacts.value
  return (
    <Page
      title={texts.title}
      lead={texts.lead}
      actions={
        <>
          <button
            type="button"
            class="primary"
            onClick={() => {
              opened.value = {}
            }}
          >
            <Icon name="plus" />
            {texts.add}
          </button>
          <button
            type="button"
            onClick={() => {
              isFiling.value = true
            }}
          >
            {texts.files}
          </button>
        </>
      }
    >
      <Card>
        <div class="contact-tools">
          <Search
            label={texts.search}
            onSearch={text => {
              query.value = text
              void load()
            }}
          />
          <GroupChoice />
        </div>
        <Chosen />
        {all !== null && all.length === 0 && (
          <Empty icon="users" title={query.value === '' && group.value === '' ? texts.none : texts.nothingFound} />
        )}
        {all !== null && all.length > 0 && (
          <List
            all={all}
            onOpen={contact => {
              opened.value = contact
            }}
          />
        )}
      </Card>
      {isFiling.value && (
        <Files
          onClose={() => {
            isFiling.value = false
          }}
        />
      )}
      {opened.value !== null && (
        <ContactDialog
          contact={opened.value}
          onClose={isChanged => {
            opened.value = null
            if (isChanged) void load()
          }}
        />
      )}
    </Page>
  )
}

function GroupChoice() {
  const texts = contactTexts.value
  const id = useId()
  if (groups.value.length === 0) return null
  return (
    <div>
      <label class="unseen" for={id}>
        {texts.group}
      </label>
      <select
        id={id}
        value={group.value}
        onChange={event => {
          group.value = event.currentTarget.value
          void load()
        }}
      >
        <option value="">{texts.allGroups}</option>
        {groups.value.map(one => (
          <option key={one.name} value={one.name}>
            {`${one.name} (${number(one.contacts)})`}
          </option>
        ))}
      </select>
    </div>
  )
}

/** What is done with those that are selected; how many there are where none is. */
function Chosen() {
  const texts = contactTexts.value
  const chosen = (contacts.value ?? []).filter(one => selected.value.has(one.id))
  const [first] = chosen
  if (first === undefined) return <p class="hint">{texts.count(number(total.value))}</p>
  const run = async (what: () => Promise<void>) => {
    try {
      await what()
      selected.value = new Set()
    } catch (error) {
      failed(error)
    }
    await load()
  }
  const mergeAll = async () => {
    const names = chosen.map(one => one.name).join(', ')
    if (await ask({ title: texts.merge, text: texts.mergeText(names, first.name), action: texts.merge }))
      await run(() => merge(chosen))
  }
  const deleteAll = async () => {
    const text = chosen.map(one => one.name).join(', ')
    if (!(await ask({ title: texts.delete, text, action: texts.delete, danger: true }))) return
    await run(async () => {
      for (const { id: contact } of chosen)
        await call('DELETE /users/:user/contacts/:contact', { params: { user: user(), contact } })
    })
  }
  return (
    <div class="actions" role="toolbar" aria-label={texts.title}>
      <strong>{texts.selected(number(chosen.length))}</strong>
      {chosen.length > 1 && (
        <button type="button" onClick={() => void mergeAll()}>
          {texts.merge}
        </button>
      )}
      <button type="button" class="danger" onClick={() => void deleteAll()}>
        {texts.delete}
      </button>
    </div>
  )
}

function List({ all, onOpen }: { readonly all: readonly Contact[]; onOpen(contact: Contact): void }) {
  const texts = contactTexts.value
  const end = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const watcher = new IntersectionObserver(seen => {
      if (seen.some(one => one.isIntersecting)) void more()
    })
    if (end.current !== null) watcher.observe(end.current)
    return () => watcher.disconnect()
    // The end that is in sight after a page came is not seen anew unless it is looked for anew.
  }, [all.length])
  return (
    <>
      <ul class="contact-list" aria-label={texts.title}>
        {all.map(contact => (
          <li key={contact.id} class="contact">
            <input
              type="checkbox"
              aria-label={texts.select(contact.name)}
              checked={selected.value.has(contact.id)}
              onChange={event => {
                const ids = new Set(selected.value)
                if (event.currentTarget.checked) ids.add(contact.id)
                else ids.delete(contact.id)
                selected.value = ids
              }}
            />
            <button type="button" class="plain contact-name" onClick={() => onOpen(contact)}>
              <bdi>{contact.name}</bdi>
              {contact.organization !== '' && <bdi class="hint">{contact.organization}</bdi>}
            </button>
            <span class="contact-ways">
              {contact.emails.slice(0, 1).map(({ value }) => (
                <a key={value} href={at(`/mail?to=${encodeURIComponent(value)}`)} dir="ltr">
                  {value}
                </a>
              ))}
              {contact.groups.slice(0, 3).map(name => (
                <Badge key={name}>
                  <bdi>{name}</bdi>
                </Badge>
              ))}
            </span>
          </li>
        ))}
      </ul>
      <div ref={end} />
    </>
  )
}

/** vCards in and out. */
function Files({ onClose }: { onClose(): void }) {
  const texts = contactTexts.value
  const id = useId()
  const isBusy = useSignal(false)
  const take = async (file: File | undefined) => {
    if (file === undefined || isBusy.value) return
    isBusy.value = true
    try {
      const { imported, replaced } = await call('POST /users/:user/contacts.vcf', {
        params: { user: user() },
        body: file,
      })
      done(texts.brought(number(imported), number(replaced)))
      await load()
      onClose()
    } catch (error) {
      failed(error)
    } finally {
      isBusy.value = false
    }
  }
  const words = group.value === '' ? {} : { query: { group: group.value } }
  return (
    <Dialog title={texts.files} onClose={onClose}>
      <p class="hint">{texts.filesText}</p>
      <div class="field">
        <label for={id}>{texts.bring}</label>
        <input
          id={id}
          type="file"
          accept=".vcf,text/vcard,text/x-vcard"
          disabled={isBusy.value}
          onChange={event => {
            const field = event.currentTarget
            void take(field.files?.[0]).then(() => {
              field.value = ''
            })
          }}
        />
      </div>
      <div class="actions">
        <a
          class="button"
          href={addressOf('GET /users/:user/contacts.vcf', { params: { user: user() }, ...words })}
          download="contacts.vcf"
        >
          <Icon name="download" />
          {group.value === '' ? texts.takeAll : texts.takeGroup(group.value)}
        </a>
      </div>
    </Dialog>
  )
}
