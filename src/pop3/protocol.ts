// POP3 as a protocol of the service: its listeners, and what their sessions are given of the core.

import { transferMessages } from '#actors/user/transfer.ts'
import type { MailCore } from '#mail-core'
import { entryOf, type Ground, type Protocol, placeOf } from '#protocol'
import { listenPop3 } from './server.ts'
import type { Pop3Dependencies } from './services.ts'

const listeners = ['pop3', 'pop3s'] as const

export const pop3: Protocol<MailCore> = {
  name: 'pop3',
  config: listeners,
  async open(core, ground) {
    for (const name of listeners) {
      const place = placeOf(core.config, name, ground)
      if (place === undefined) continue
      ground.opened(name, await listenPop3(dependencies(core, ground), { ...place, implicitTls: name === 'pop3s' }))
    }
  },
}

function dependencies(core: MailCore, ground: Ground): Pop3Dependencies {
  const { config, system, bodies, sequence, settings, metrics, log, reads, credentials } = core
  return {
    hostname: config.hostname,
    cleartext: config.auth.cleartext,
    deleteTo: config.pop3.deleteTo,
    messagesMax: config.pop3.maxMessages,
    tls: ground.tls,
    authenticate: entryOf(core, ground),
    intercept: ground.hooks?.intercept,
    grants: credentials.grants,
    transfers: core.traffic,
    transfer: (handle, command, transfer) => transferMessages({ bodies, sequence, reads }, handle, command, transfer),
    ...{ system, bodies, settings, metrics, log },
  }
}
