// Taking mail along over HTTP: a folder or everything as one mbox file, streamed as the client reads.
//
// What stands in it is in actors/view/mbox-export.ts. It ends with its client.

import { exportMbox } from '#actors/view/mbox-export.ts'
import { Fault } from '#lib/fault.ts'
import { findMailbox } from '#store/mailboxes/mailboxes.ts'
import { binary } from '../../answer.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { mailboxId, optional, userId } from '../../schema.ts'
import { requireUser } from './mailboxes.ts'
import type { MessageDeps } from './message-deps.ts'

export function mboxEndpoints({ system, bodies }: MessageDeps): Endpoint[] {
  const { read } = system
  const mbox = endpoint({
    method: 'GET',
    path: '/users/:user/export.mbox',
    anywhere: true,
    tag: 'Messages',
    summary: 'Get the messages of a mailbox, or of all of them, as one mbox file (mboxrd)',
    description:
      'Lines end in LF. `Status`, `X-Status` and `X-Keywords` say the flags, `X-Export-Mailbox` the path; `Status` and `X-Status` of the ' +
      'messages themselves are left out. A message that cannot be read stands there empty, with `X-Export-Unreadable`.',
    allow: 'messages.read',
    params: { user: userId },
    query: { mailbox: optional(mailboxId) },
    replyType: 'application/mbox',
    faults: ['UserNotFound', 'NoSuchMailbox'],
    async run({ input }) {
      const user = await requireUser(read, input.user)
      const mailbox = input.mailbox === undefined ? null : await findMailbox(read, user.num, input.mailbox)
      if (mailbox === undefined) throw new Fault('NoSuchMailbox')
      const headers = { 'content-type': 'application/mbox', 'content-disposition': 'attachment; filename=mail.mbox' }
      return binary({ headers, body: exportMbox({ read, bodies }, user.num, mailbox) })
    },
  })
  return [mbox]
}
