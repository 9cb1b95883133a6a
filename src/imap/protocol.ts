// IMAP as a protocol of the service: its listeners, and what their sessions are given of the core. All of them are one server,
// so that the sessions of an account are counted together.

import { encrypted } from '#actors/delivery/encryption.ts'
import { transferMessages } from '#actors/user/transfer.ts'
import type { MailCore } from '#mail-core'
import { entryOf, type Ground, type Protocol, placeOf } from '#protocol'
import { ImapServer } from './server.ts'
import type { ImapDependencies } from './services.ts'

const listeners = ['imap', 'imaps'] as const

export const imap: Protocol<MailCore> = {
  name: 'imap',
  config: listeners,
  async open(core, ground) {
    const server = new ImapServer(dependencies(core, ground))
    for (const name of listeners) {
      const place = placeOf(core.config, name, ground)
      if (place === undefined) continue
      ground.opened(name, await server.listen({ ...place, implicitTls: name === 'imaps' }))
    }
  },
}

function dependencies(core: MailCore, ground: Ground): ImapDependencies {
  const { config, system, bodies, sequence, settings, metrics, log, reads, credentials } = core
  return {
    hostname: config.hostname,
    cleartext: config.auth.cleartext,
    connectionsMax: config.imap.maxConnections,
    messageBytesMax: config.mail.maxSize,
    tls: ground.tls,
    authenticate: entryOf(core, ground),
    intercept: ground.hooks?.intercept,
    grants: credentials.grants,
    transfers: core.traffic,
    ...{ candidates: reads.candidates, scan: reads.scan, sort: reads.sort, thread: reads.thread },
    transfer: (handle, command, transfer) => transferMessages({ bodies, sequence, reads }, handle, command, transfer),
    seal: (user, received) => encrypted({ bodies, reads }, user, received),
    ...{ system, bodies, sequence, settings, metrics, log, changes: core.changes },
    ...{ places: core.places, recency: core.recency },
  }
}
