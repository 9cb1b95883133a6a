// What can be done to the message that is read: answered, filed, marked, printed, filed from now on, sent on.
//
// Whatever takes it away leads to the next one of the list.

import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Icon, type IconName } from '../../base/icon.tsx'
import { moveFor, type Place, remove, setFlag } from '../actions.ts'
import type { MessageList } from '../list/message-list.ts'
import { MoveMenu } from '../list/move-menu.tsx'
import { folderOf, type Message, type Row } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import { answer } from '../write/answer.ts'
import { editDraft } from '../write/draft.ts'
import { AlwaysFile } from './always-file.tsx'
import { Redirect } from './redirect.tsx'

export function Actions({
  message,
  list,
  open,
}: {
  readonly message: Message
  readonly list: MessageList
  open(row: Row | undefined): void
}) {
  const texts = mailTexts.value
  const { mailbox, id: uid } = message
  const places: readonly Place[] = [{ mailbox, uids: [uid] }]
  const folder = folderOf(mailbox)
  const isJunk = folder?.specialUse === '\\Junk'
  const leave = (run: (places: readonly Place[]) => Promise<void>) => {
    const index = list.indexOf(mailbox, uid)
    open(index < 0 ? undefined : (list.row(index + 1) ?? list.row(index - 1)))
    void run(places)
  }
  const isFlagged = useFlag(message, list)
  const shown = useSignal<'' | 'filing' | 'redirect'>('')
  const close = () => {
    shown.value = ''
  }
  const button = (icon: IconName, label: string, run: () => void) => (
    <button type="button" class="plain" title={label} aria-label={label} onClick={run}>
      <Icon name={icon} />
    </button>
  )
  const answering = (action: 'reply' | 'replyAll' | 'forward', label: string) => (
    <button type="button" title={label} onClick={() => void answer({ mailbox, uid }, action)}>
      <Icon name={action} />
      <span>{label}</span>
    </button>
  )
  return (
    <div class="mail-actions" role="toolbar" aria-label={texts.message}>
      <button
        type="button"
        class="plain mail-back"
        aria-label={texts.back}
        title={texts.back}
        onClick={() => open(undefined)}
      >
        <Icon name="chevron" />
      </button>
      {message.draft ? (
        <button type="button" class="primary" onClick={() => void editDraft(message)}>
          {texts.edit}
        </button>
      ) : (
        <div class="mail-answers">
          {answering('reply', texts.reply)}
          {answering('replyAll', texts.replyAll)}
          {answering('forward', texts.forward)}
        </div>
      )}
      <span class="gap" />
      {button('archive', texts.archive, () => leave(some => moveFor(some, '\\Archive')))}
      {button('alert', isJunk ? texts.notJunk : texts.junk, () =>
        leave(some => moveFor(some, isJunk ? 'INBOX' : '\\Junk')),
      )}
      {button('trash', texts.delete, () => leave(remove))}
      {button('mail', texts.markUnread, () => {
        open(undefined)
        void setFlag(places, { seen: false })
      })}
      <button
        type="button"
        class={isFlagged.value ? 'plain star on' : 'plain star'}
        title={texts.flag}
        aria-label={texts.flag}
        aria-pressed={isFlagged.value}
        onClick={() => {
          isFlagged.value = !isFlagged.value
          void setFlag(places, { flagged: isFlagged.value })
        }}
      >
        <Icon name="star" />
      </button>
      <MoveMenu act={leave} />
      {!message.draft && (
        <>
          {button('filter', texts.filing.title, () => {
            shown.value = 'filing'
          })}
          {button('redirect', texts.redirect.title, () => {
            shown.value = 'redirect'
          })}
        </>
      )}
      {button('print', texts.print, () => print())}
      {shown.value === 'filing' && <AlwaysFile message={message} onClose={close} />}
      {shown.value === 'redirect' && <Redirect message={message} onClose={close} />}
    </div>
  )
}

/** Whether it is flagged, also where that changes in its list. */
function useFlag({ mailbox, id: uid, flagged }: Message, list: MessageList): Signal<boolean> {
  const isFlagged = useSignal(flagged)
  void list.version.value
  const row = list.row(list.indexOf(mailbox, uid))
  const listed = row?.id === uid && (row.conversation?.total ?? 1) === 1 ? row.flagged : undefined
  useEffect(() => {
    if (listed !== undefined) isFlagged.value = listed
  }, [listed])
  return isFlagged
}
