// One mail: whose it is, what can be done with it, and views of what is in it.
//
// While a mail is on its way nothing of another is shown. Names and addresses of mails stand by themselves (`<bdi>`), whichever way the page reads.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Icon } from '../base/icon.tsx'
import { bytes, moment } from '../base/language.ts'
import { Fact, Facts } from '../base/parts.tsx'
import { act, choose, chosen, mail, remove, type View, view, views } from './inbox.ts'
import { ReleaseDialog } from './release.tsx'
import { ask, type Info, type Mail, type Person } from './rest.ts'
import { TagField } from './tags.tsx'
import { devTexts } from './texts/texts.ts'
import { Panel } from './views.tsx'

export function MailView() {
  const texts = devTexts.value
  const now = mail.value
  if (now === null) {
    const isComing = chosen.value !== null
    return (
      <div class="state" aria-busy={isComing}>
        {isComing ? <span class="spinner" aria-hidden="true" /> : <p>{texts.chooseOne}</p>}
      </div>
    )
  }
  const shown = view.value ?? (now.html === '' ? 'text' : 'html')
  return (
    <>
      <Head mail={now} />
      <Facts>
        <Fact name={texts.from}>
          <bdi>{person(now.from) || now.envelope.from || '<>'}</bdi>
        </Fact>
        <People name={texts.to} people={now.to} />
        <People name={texts.cc} people={now.cc} />
        <People name={texts.replyTo} people={now.replyTo} />
        <Fact name={texts.envelope}>
          <bdi dir="ltr">
            {now.envelope.from || '<>'} → {now.envelope.to.join(', ')}
          </bdi>
        </Fact>
        <Fact name={texts.arrived}>
          {moment(now.arrived)}, {bytes(now.size)}
        </Fact>
        {now.code !== null && (
          <Fact name={texts.code}>
            <bdi class="code strong">{now.code}</bdi>
          </Fact>
        )}
      </Facts>
      <TagField label={texts.tags} tags={now.tags} set={tags => act('PUT', { ids: [now.id], tags })} />
      <Tabs mail={now} shown={shown} />
      <div role="tabpanel" id="panel" aria-labelledby={`tab-${shown}`}>
        <Panel key={`${now.id} ${shown}`} view={shown} mail={now} />
      </div>
    </>
  )
}

function Head({ mail: { id, subject, read, envelope, raw } }: { readonly mail: Mail }) {
  const texts = devTexts.value
  const isReleasing = useSignal(false)
  const release = useSignal<Info['release']>(null)
  useEffect(() => {
    ask<Info>('GET', '/info').then(
      info => {
        release.value = info.release
      },
      () => {},
    )
  }, [])
  return (
    <div class="mail-head">
      <button type="button" class="plain back" aria-label={texts.backToList} onClick={() => choose(null)}>
        <Icon name="list" />
      </button>
      <h2>
        <bdi>{subject || texts.noSubject}</bdi>
      </h2>
      <div class="actions">
        <button type="button" onClick={() => act('PUT', { ids: [id], read: !read })}>
          {read ? texts.markUnread : texts.markRead}
        </button>
        {release.value !== null && (
          <button type="button" onClick={() => (isReleasing.value = true)}>
            {texts.release}
          </button>
        )}
        <a class="button" href={raw} download={`${id}.eml`}>
          {texts.download}
        </a>
        <button type="button" class="danger" aria-keyshortcuts="d" onClick={() => void remove()}>
          {texts.delete}
        </button>
      </div>
      {isReleasing.value && release.value !== null && (
        <ReleaseDialog id={id} to={envelope.to} about={release.value} close={() => (isReleasing.value = false)} />
      )}
    </div>
  )
}

function People({ name, people }: { readonly name: string; readonly people: readonly Person[] }) {
  if (people.length === 0) return null
  return (
    <Fact name={name}>
      <bdi>{people.map(person).join(', ')}</bdi>
    </Fact>
  )
}

function person(one: Person | null): string {
  if (one === null) return ''
  return one.name === '' ? one.address : `${one.name} <${one.address}>`
}

function Tabs({ mail: { links, attachments }, shown }: { readonly mail: Mail; readonly shown: View }) {
  const { views: names, viewsLabel } = devTexts.value
  const counts: Partial<Record<View, number>> = { links: links.length, attachments: attachments.length }
  return (
    <div role="tablist" aria-label={viewsLabel}>
      {views.map((one, at) => (
        <button
          key={one}
          type="button"
          role="tab"
          id={`tab-${one}`}
          aria-selected={one === shown}
          aria-controls="panel"
          aria-keyshortcuts={String(at + 1)}
          onClick={() => (view.value = one)}
        >
          {names[one]}
          {(counts[one] ?? 0) > 0 && ` (${counts[one]})`}
        </button>
      ))}
    </div>
  )
}
