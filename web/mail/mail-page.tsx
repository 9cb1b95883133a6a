// The page of mail: folders, the list, the message that is read, beside each other where there is room and else one after the other.
//
// Where one is stands in the address: the folder as its path, `m` and `b` the message and its folder, `q` a search. So a message has an
// address, and the way back leads to the list as it was.

import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from '../base/icon.tsx'
import { number } from '../base/language.ts'
import { failed } from '../base/notice.tsx'
import { go, search, type Values } from '../base/router.ts'
import { owner } from '../base/session.ts'
import { soon } from '../base/soon.ts'
import { hold, runUndo, undo } from './actions.ts'
import { withWords } from './addresses.ts'
import { Folders } from './folders/folders.tsx'
import { Help, helpOpen, useKeys } from './keys.tsx'
import { letters, loadLetters, withLetters } from './later.ts'
import { List } from './list/list.tsx'
import { Search } from './list/search.tsx'
import { byConversation } from './list/sources.ts'
import { doOwed } from './owed/doing.ts'
import { owed } from './owed/owed.ts'
import { areFresh, folderFor, folderOf, folders, isOffline, listOf, openFolders } from './store.ts'
import { mailTexts } from './texts/texts.ts'
import { follow } from './updates.ts'

export function MailPage({ values: { folder } }: { readonly values: Values }) {
  // Folders and the list are read from here on.
  const { inbox: first = '', lastEvent } = owner()
  useLayoutEffect(() => {
    if (folders.value === null) openFolders().catch(failed)
    // Other pages lead here to write to somebody; the address that says so is left at once.
    const to = search.value.get('to')
    if (to !== null) withLetters(({ newLetter }) => newLetter({ to }))
  }, [])
  useEffect(() => {
    doOwed()
    return follow(lastEvent)
  }, [])
  const isHere =
    folder !== undefined && (folderOf(folder) !== undefined || (folders.value === null && folder === first))
  // One that is not among those that were kept may be new.
  const isGone = !isHere && folders.value !== null && (areFresh.value || isOffline.value)
  const inbox = folderFor('INBOX')?.id ?? first
  const isElsewhere = (folder === undefined || isGone) && inbox !== ''
  useLayoutEffect(() => {
    if (isElsewhere) go(`/mail/${inbox}`, { replace: true })
  }, [isElsewhere, inbox])
  return isHere ? <Shown folder={folder} /> : <Waiting />
}

interface Opened {
  readonly mailbox: string
  readonly id: number
  readonly thread?: string
  readonly conversation?: { readonly total: number }
}

function Waiting() {
  return (
    <div class="state" role="status">
      <span class="spinner" aria-hidden="true" />
    </div>
  )
}

function Shown({ folder }: { readonly folder: string }) {
  const texts = mailTexts.value
  const q = search.value.get('q') ?? ''
  const uid = Number(search.value.get('m') ?? 0)
  const mailbox = search.value.get('b') ?? folder
  const thread = search.value.get('t') ?? ''
  const list = listOf(folder, q, thread)
  const outer = { ...(q !== '' && { q }) }
  const open = (row: Opened | undefined) => {
    const opened = thread || ((row?.conversation?.total ?? 1) > 1 ? row?.thread : '') || ''
    const words = { ...outer, ...(opened !== '' && { t: opened }) }
    if (row === undefined) go(withWords(folder, words))
    else go(withWords(folder, { ...words, m: String(row.id), ...(row.mailbox !== folder && { b: row.mailbox }) }))
  }
  const leave = () => go(withWords(folder, outer))
  const isListed = list.total.value >= 0 || list.failure.value !== undefined
  const isRead = uid > 0
  useEffect(() => {
    const load = () => void loadLetters().then(({ restoreLetters }) => restoreLetters(), failed)
    if (isRead) load()
    else if (isListed) soon(load)
  }, [isListed, isRead])
  const { Reader, Writers } = letters.value ?? {}
  const page = useRef<HTMLDivElement>(null)
  useKeys({ list, open, isReading: uid > 0, message: uid > 0 ? { mailbox, uid } : null, page, leave })
  return (
    <div ref={page} class={`mail-all${uid > 0 ? ' reading' : ''}`}>
      <h1 class="unseen">{texts.mail}</h1>
      <aside class="mail-side">
        <button type="button" class="primary mail-write" onClick={() => withLetters(({ newLetter }) => newLetter({}))}>
          <Icon name="edit" />
          <span>{texts.write}</span>
        </button>
        <Folders current={folder} />
        <button
          type="button"
          class="link mail-keys"
          onClick={() => {
            helpOpen.value = true
          }}
        >
          {texts.keys}
        </button>
      </aside>
      <div class="mail-middle">
        <Search folder={folder} q={q} />
        {isOffline.value && (
          <p class="mail-offline" role="status">
            <Icon name="alert" />
            <span>
              {texts.offline} {owed.value.length > 0 && texts.owed.count(number(owed.value.length))}
            </span>
          </p>
        )}
        {thread !== '' && (
          <button type="button" class="link mail-out" onClick={leave}>
            <Icon name="chevron" />
            <span>{texts.back}</span>
          </button>
        )}
        <List
          key={`${folder} ${q} ${thread} ${byConversation.value}`}
          list={list}
          folder={folder}
          q={q}
          open={open}
          current={uid > 0 ? `${mailbox}:${uid}` : ''}
        />
      </div>
      <section class="mail-reader" aria-label={texts.message}>
        {uid > 0 && Reader === undefined && <Waiting />}
        {uid > 0 && Reader !== undefined && (
          <Reader key={`${mailbox}:${uid}`} mailbox={mailbox} uid={uid} list={list} open={open} />
        )}
        {uid === 0 && (
          <div class="state mail-choose">
            <Icon name="mail" />
            <p>{texts.chooseMessage}</p>
          </div>
        )}
      </section>
      {Writers !== undefined && <Writers />}
      <UndoBar />
      {helpOpen.value && <Help />}
    </div>
  )
}

function UndoBar() {
  const offered = undo.value
  return (
    <div
      class="mail-undo"
      role="status"
      aria-live="polite"
      onMouseEnter={() => hold('pointer', true)}
      onMouseLeave={() => hold('pointer', false)}
      onFocusIn={() => hold('focus', true)}
      onFocusOut={() => hold('focus', false)}
    >
      {offered !== null && (
        <div class="notice done">
          <span>{offered.text}</span>
          <button type="button" class="link" onClick={() => void runUndo()}>
            {offered.label}
          </button>
        </div>
      )}
    </div>
  )
}
