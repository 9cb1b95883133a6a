// GETQUOTA and GETQUOTAROOT (RFC 9208): one root for the account, one resource, storage in KiB.

import { Fault } from '#lib/fault.ts'
import { command, loggedIn } from '../command.ts'
import type { Session } from '../session.ts'

const getQuota = command({
  name: 'GETQUOTA',
  states: loggedIn,
  capabilities: ['QUOTA', 'QUOTA=RES-STORAGE'],
  parse(decoder) {
    decoder.space()
    const root = decoder.astring()
    decoder.end()
    return root
  },
  async run(session, root) {
    if (root !== '') throw new Fault('NoSuchMailbox', { text: 'There is no such quota root' })
    session.out.line(await quotaLine(session))
    return undefined
  },
})

const getQuotaRoot = command({
  name: 'GETQUOTAROOT',
  states: loggedIn,
  parse(decoder) {
    decoder.space()
    const path = decoder.mailbox()
    decoder.end()
    return path
  },
  async run(session, path) {
    // RFC 9208 4.1.3: the name need not be that of a folder; what it would belong to is asked for before it is made.
    session.out.line(`* QUOTAROOT ${session.mailboxName(path)} ""`)
    session.out.line(await quotaLine(session))
    return undefined
  },
})

export const quotaCommands = [getQuota, getQuotaRoot]

async function quotaLine(session: Session): Promise<string> {
  const { storage, allowed } = await session.mail.usage()
  const used = Math.ceil(storage / 1024)
  // Nobody is promised room that is not there, nor seems to be over a limit within which they are.
  const limit = storage > allowed ? Math.floor(allowed / 1024) : Math.max(used, Math.floor(allowed / 1024))
  return `* QUOTA "" (STORAGE ${used} ${limit})`
}
