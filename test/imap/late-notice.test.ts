// A commit may be seen in its rows before its notice comes; what went by then is told all the same.

import { expect, test } from 'vitest'
import { FolderRows } from '#imap/folder-rows.ts'
import type { Listener } from '#imap/selected/listener.ts'
import { View } from '#imap/selected/view.ts'
import { folderCounters } from '#store/mailboxes/listing.ts'
import { findMailboxByPath } from '#store/mailboxes/mailboxes.ts'
import { useTeal } from '../running.ts'

const service = useTeal({ threads: 0 })

test('an expunge whose rows were seen by an answer that may not tell it is told when its notice comes', async () => {
  const user = await service.user('anna')
  const { read } = service.teal.core
  const row = await read.one<{ num: number }>('SELECT num FROM "user" WHERE id = ?', user)
  const find = async () => findMailboxByPath(read, row?.num ?? 0, 'INBOX')
  const inbox = (await find())?.id
  const path = `/users/${user}/mailboxes/${inbox}/messages`
  for (let at = 0; at < 3; at++) {
    expect((await service.call('POST', path, { raw: `Subject: ${at}\r\n\r\nHello\r\n` })).status).toBe(200)
  }
  const mailbox = await find()
  if (mailbox === undefined) throw new Error('there is no INBOX')
  const view = await View.open(new FolderRows(read, mailbox.num), mailbox, false)
  const told: number[] = []
  const nothing = async () => {}
  const listener: Listener = {
    gone: (_, uids) => void told.push(...uids),
    exists() {},
    recent() {},
    flags() {},
    ...{ arrived: nothing, keywords: nothing, room: nothing },
  }
  await view.tell(listener, true)
  const before = (await folderCounters(read, mailbox.num))?.modseq ?? 0
  expect((await service.call('DELETE', `${path}/2`)).status).toBe(200)
  // Of another change it has heard.
  const flags = { uid: 1, num: 0, modseq: before, flags: 0, keywords: [], thread: 0 }
  view.notice({ kind: 'flags', mailbox: mailbox.num, ...flags })
  await view.tell(listener, false)
  view.settle(true)
  const modseq = (await folderCounters(read, mailbox.num))?.modseq ?? 0
  view.notice({ kind: 'expunge', mailbox: mailbox.num, uid: 2, num: 0, modseq, thread: 0 })
  await view.tell(listener, true)
  expect(told).toEqual([2])
})
