// The thread that reads mail from another server for one of our users, who may have chosen that server to do harm: whatever it sends,
// and however much, is read here, with a heap of its own and behind those who are answered. One account, then it is ended.

import { Fault } from '../src/lib/fault.ts'
import { standBack } from '../src/lib/process/polite.ts'
import { serve, transferring } from '../src/lib/process/serve.ts'
import { type ImapAccount, ImapSource, type SourceFolder } from '../src/mail/exchange/imap-source.ts'
import { outwardFailure } from '../src/net/outward/outward.ts'

interface Wanted {
  /** One of the host's, checked. */
  readonly address: string
  readonly account: ImapAccount
  readonly messageBytesMax: number
}

let opened: ImapSource | undefined

/** Gives why it could not be reached, null where it was. */
async function open({ address, account, messageBytesMax }: Wanted): Promise<string | null> {
  try {
    opened = await ImapSource.open(address, account, { messageBytesMax })
    return null
  } catch (error) {
    if (error instanceof Fault) throw error
    return outwardFailure(error)
  }
}

function source(): ImapSource {
  if (opened === undefined) throw new Error('no source is open')
  return opened
}

async function select(folder: SourceFolder) {
  const found = await source().select(folder)
  if (found === null) return null
  const uids = Uint32Array.from(found.uids)
  return transferring({ validity: found.validity, uids }, [uids.buffer])
}

standBack()
serve({
  open,
  folders: () => source().folders(),
  select,
  message: (uid: number) => source().message(uid),
  close: () => source().close(),
})
