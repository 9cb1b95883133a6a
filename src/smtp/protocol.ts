// SMTP, LMTP and submission as one protocol of the service: listeners that take mail from others, and those where accounts send.
// What comes in is received with what its verifier and the scanners of the configuration say of it; what they need of the core is
// put together here and nowhere else.
//
// In a test (Ground.hooks) each of them takes mail of everybody.

import { readFileSync } from 'node:fs'
import { Reception } from '#actors/delivery/reception.ts'
import { Door } from '#actors/screening/door.ts'
import { Marks } from '#actors/screening/marks.ts'
import { Scanners } from '#actors/screening/scanning.ts'
import { Verifier } from '#actors/screening/verification.ts'
import { ReportCounts } from '#actors/sending/report-counts.ts'
import { questions } from '#lib/process/questions.ts'
import { Origins } from '#mail/origin/origins.ts'
import { type MailCore, screeningServers } from '#mail-core'
import { Outward } from '#net/outward/outward.ts'
import { entryOf, type Ground, type Protocol, placeOf } from '#protocol'
import type { Speaker } from './backend.ts'
import { startSmtp } from './server.ts'
import { submissionSessions } from './submission.ts'

const receiving = ['lmtp', 'smtp'] as const
const sending = ['submission', 'submissions'] as const

export const smtp: Protocol<MailCore> = {
  name: 'smtp',
  config: [...receiving, ...sending],
  async open(core, ground) {
    const { config } = core
    const counts = config.reports.dmarc ? new ReportCounts(core.system, core.log) : undefined
    const backend = reception(core, ground, counts)
    const tested = testedOf(core, ground)
    for (const service of receiving) {
      const place = placeOf(config, service, ground)
      if (place === undefined) continue
      const at = optionsOf(core, ground, place)
      const tls = ground.hooks?.starttls === false ? undefined : at.tls
      const server = await startSmtp({ service, backend, ...tested, ...at, tls })
      const close = async () => {
        await server.close()
        await counts?.flush()
      }
      ground.opened(service, { address: server.address, close })
    }
    const sessions = submissionSessions(core)
    const { cleartext } = config.auth
    for (const service of sending) {
      const place = placeOf(config, service, ground)
      if (place === undefined) continue
      const at = optionsOf(core, ground, place)
      ground.opened(
        service,
        tested === undefined
          ? await startSmtp({ service, cleartext, ...sessions, ...at })
          : await startSmtp({ service, backend, ...tested, ...at }),
      )
    }
  },
}

type Place = NonNullable<ReturnType<typeof placeOf>>

/** What all of them need. */
function optionsOf({ config, log, metrics }: MailCore, { tls }: Ground, place: Place) {
  const { sessionsMax, sessionsPerNetworkMax, ...at } = place
  const bounds = { messageBytesMax: config.mail.maxSize, sessionsMax, sessionsPerNetworkMax }
  return { ...at, hostname: config.hostname, tls, bounds, log, metrics }
}

/** In a test all listeners take mail, of those who log in and of others. */
function testedOf(core: MailCore, ground: Ground) {
  const { hooks } = ground
  if (hooks === undefined) return undefined
  const enter = entryOf(core, ground)
  const authenticate = async (username: string, password: string, { id: session, remoteAddress: ip }: Speaker) => {
    await enter({ username, password, scope: 'smtp', protocol: 'SMTP', session, ip })
    return username
  }
  return { open: true, intercept: hooks.intercept, authenticate, cleartext: core.config.auth.cleartext }
}

function reception(core: MailCore, { hooks }: Ground, counts: ReportCounts | undefined): Reception {
  const { delivery, bodies, config } = core
  const intake =
    hooks === undefined
      ? delivery
      : {
          recipient: (address: string) => hooks.recipient(address).then(() => delivery.recipient(address)),
          deliver: delivery.deliver.bind(delivery),
        }
  const { hostname } = config
  const parts = {
    delivery: intake,
    tracer: core.tracer,
    bodies,
    verifier: verifierOf(core, counts),
    scanners: scannersOf(core),
    door: doorOf(core),
  }
  return new Reception({ ...parts, journal: core.journal, hostname, messageBytesMax: config.mail.maxSize })
}

function doorOf({ counters, config: { smtp }, metrics }: MailCore): Door {
  const { greylist, networkMessages: messagesMax, organizationMessages: organizationMessagesMax } = smtp
  return new Door({ counters, greylist, messagesMax, organizationMessagesMax, metrics })
}

function scannersOf({ config: { spam }, log, metrics }: MailCore): Scanners {
  const { rspamd, clamd, relays } = spam
  return new Scanners({ rspamd, clamd, relays, log, metrics })
}

function verifierOf(core: MailCore, counts: ReportCounts | undefined): Verifier {
  const { pools, log, metrics } = core
  const { smtp, hostname } = core.config
  const { authenticate: enabled, dmarc, unjudged, forwarders, arcSealers: sealers } = smtp
  const how = { enabled, heed: dmarc === 'heed', unjudged, forwarders, sealers }
  const marks = enabled && smtp.bimi ? marksOf(core) : undefined
  const { blockLists: block, allowLists: allow, uriLists: uri } = core.config.spam
  const origins = new Origins({ ...questions(screeningServers(core.config)), lists: { block, allow, uri } })
  const kinds = ['dns', 'spf', 'dmarc', 'bimi', 'standing'] as const
  if (enabled) for (const kind of kinds) metrics.remembers(kind, () => origins.sizes[kind])
  return new Verifier({ origins, pool: pools.verify, hostname, log, metrics, counts, marks, ...how })
}

function marksOf({ config: { smtp, network }, system, pools, log, metrics }: MailCore): Marks {
  const read = (file: string) => (file === '' ? '' : readFileSync(file, 'utf8'))
  const outward = new Outward(network)
  const trusted = { ca: read(smtp.bimiCa), authorities: read(smtp.bimiAuthorities) }
  return new Marks({ system, outward, pool: pools.verify, log, metrics, ...trusted })
}
