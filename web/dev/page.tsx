// The page of `teal dev`: the list at the start, the mail beside it, keys for both, failures and preferences in front.
//
// Keys count as soon as a mail is chosen, whether it is here yet or not.

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ask, Dialog, Questions } from '../base/dialog.tsx'
import { Notices } from '../base/notice.tsx'
import { IconButton } from '../base/parts.tsx'
import { Preferences } from '../base/preferences.tsx'
import { Failures, loadRules, rules } from './failures.tsx'
import { Help } from './help.tsx'
import { chosen, clear, flipRead, lines, listen, live, query, remove, search, step, view, views } from './inbox.ts'
import { List } from './list.tsx'
import { MailView } from './mail.tsx'
import { NotifyField } from './notify.tsx'
import { devTexts } from './texts/texts.ts'

export function DevPage() {
  const texts = devTexts.value
  const front = useSignal<'failures' | 'preferences' | 'help' | null>(null)
  const field = useRef<HTMLInputElement>(null)
  const total = lines.value?.total ?? 0
  useEffect(() => {
    listen()
    void loadRules()
  }, [])
  useEffect(() => {
    document.title = total > 0 ? `${texts.title} (${total})` : texts.title
  }, [total, texts])
  useEffect(() => {
    const heard = (event: KeyboardEvent) =>
      press(event, {
        field: field.current,
        fail: () => (front.value = 'failures'),
        help: () => (front.value = 'help'),
      })
    document.addEventListener('keydown', heard)
    return () => document.removeEventListener('keydown', heard)
  }, [])
  const state = live.value
  return (
    <div class={`dev${chosen.value === null ? '' : ' reading'}`}>
      <a class="skip" href="#mail">
        {texts.skip}
      </a>
      <header class="dev-top">
        <h1>{texts.title}</h1>
        <span id="live" class={state} role="status">
          {texts.live[state]}
        </span>
        <search class="dev-search">
          <input
            ref={field}
            type="search"
            aria-label={texts.search}
            placeholder={texts.searchHint}
            value={query.value}
            autocomplete="off"
            spellcheck={false}
            aria-keyshortcuts="/"
            onInput={event => search(event.currentTarget.value)}
          />
        </search>
        <button type="button" aria-keyshortcuts="f" onClick={() => (front.value = 'failures')}>
          {texts.failures}
          {rules.value.length > 0 && ` (${rules.value.length})`}
        </button>
        <button type="button" class="danger" aria-keyshortcuts="Shift+D" disabled={total === 0} onClick={askClear}>
          {texts.deleteAll}
        </button>
        <IconButton icon="settings" label={texts.preferences} onClick={() => (front.value = 'preferences')} />
      </header>
      <main>
        <nav aria-label={texts.mails}>
          <List />
        </nav>
        <section id="mail" tabIndex={-1} aria-label={texts.mail}>
          <MailView />
        </section>
      </main>
      <footer>
        {texts.keys}{' '}
        <button type="button" class="link" aria-keyshortcuts="?" onClick={() => (front.value = 'help')}>
          {texts.help}
        </button>
      </footer>
      {front.value === 'help' && <Help close={() => (front.value = null)} />}
      {front.value === 'failures' && <Failures close={() => (front.value = null)} />}
      {front.value === 'preferences' && (
        <Dialog title={texts.preferences} onClose={() => (front.value = null)}>
          <Preferences />
          <NotifyField />
        </Dialog>
      )}
      <Questions />
      <Notices />
    </div>
  )
}

async function askClear(): Promise<void> {
  const texts = devTexts.value
  const count = lines.value?.total ?? 0
  if (count === 0) return
  const question = { title: texts.deleteAllOf(count), text: texts.deleteText, action: texts.delete, danger: true }
  if (await ask(question)) await clear()
}

interface Hands {
  readonly field: HTMLInputElement | null
  fail(): void
  help(): void
}

function press(event: KeyboardEvent, { field, fail, help }: Hands): void {
  if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector('dialog[open]') !== null) return
  const { target, key } = event
  if (target === field && key === 'Escape') {
    search('')
    field?.blur()
    return
  }
  if (target instanceof HTMLInputElement && target.type !== 'checkbox') return
  const number = Number(key)
  if (key === 'j' || key === 'ArrowDown') void step(1)
  else if (key === 'k' || key === 'ArrowUp') void step(-1)
  else if (key === 'd' || key === 'Delete') void remove()
  else if (key === 'D') void askClear()
  else if (key === 'u') void flipRead()
  else if (key === 'f') fail()
  else if (key === '?') help()
  else if (key === '/') field?.focus()
  else if (number >= 1 && number <= views.length && chosen.value !== null) view.value = views[number - 1] ?? null
  else return
  event.preventDefault()
}
