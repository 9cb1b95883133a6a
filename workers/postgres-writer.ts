// The thread that writes to PostgreSQL: takes what workers/writer.ts takes, and answers alike.
//
// A batch is one call on one connection, and what comes while it is under way is the next. The answer is sent when the engine has
// it on disk, or is certain that nothing of it is (src/store/engine/postgres/writer/writing.ts).

import { Fault } from '../src/lib/fault.ts'
import { collectWhenQuiet } from '../src/lib/process/heap.ts'
import { lodgings, type ThreadEnd, threadEnd } from '../src/lib/process/serve.ts'
import { shownAddress } from '../src/store/engine/postgres/address.ts'
import { Writing } from '../src/store/engine/postgres/writer/writing.ts'
import { gather, Inbox, type Message } from '../src/store/writer/inbox.ts'
import type { Opened, WriterThreadData } from '../src/store/writer/thread.ts'
import '../src/store/writer/writes.ts'

type End = ThreadEnd<WriterThreadData>

const own = threadEnd<WriterThreadData | undefined>()
// Not before the first writes: whoever starts waits for them.
if (own.given === undefined) {
  lodgings(own, begin)
  collectWhenQuiet()
} else begin(own as End, collectWhenQuiet)

/** Opens a database and serves it, until it is told to close. */
function begin(end: End, opened = () => {}): void {
  const { file: url, mayBeNew, ...options } = end.given
  Writing.open({ url }, mayBeNew, options).then(
    ({ writing, made }) => {
      end.start((): Opened => ({ made, loss: null }))
      serveWrites(end, writing)
      opened()
    },
    (failure: unknown) => {
      end.start(() => {
        throw told(failure, url)
      })
      end.port.close()
    },
  )
}

/** An empty database beside a folder that was used is another one than it was. */
function told(failure: unknown, url: string): unknown {
  if (!(failure instanceof Fault) || failure.code !== 'DataMissing') return failure
  return new Fault('DataMissing', {
    text:
      `The database at ${shownAddress(url)} is empty, but the data directory belongs to a service that was here before. ` +
      'Nothing was started or changed. If it is to go on there, bring its rows with `teal move --to`; to begin anew, ' +
      'start with an empty directory.',
  })
}

function serveWrites(end: End, writing: Writing): void {
  const inbox = new Inbox(end.receive)
  let busy = false
  const work = async () => {
    if (busy) return
    busy = true
    for (let message = inbox.take(); message !== undefined; message = inbox.take()) {
      if ('close' in message) {
        await writing.close()
        end.port.close()
        return
      }
      // How large the database may become is the engine's own to say.
      if (message.task === 'limitPages') continue
      const batch = gather(message, inbox)
      end.reply(batch.upTo, { value: await writing.commit(batch.units) })
    }
    busy = false
  }
  end.port.on('message', (message: Message) => {
    inbox.put(message)
    void work()
  })
}
