// The protocols of the service, a line for each, and what their listeners share.
//
// They open in this order and close in reverse. A listener that cannot be opened fails the whole start: a service that is
// half there would be taken for a whole one.

import assert from 'node:assert'
import { type ListenerName, listeners, splitSocket } from '#config'
import type { Closers, Core } from '#core'
import { limits } from '#lib/limits.ts'
import { rangesOf } from '#lib/network.ts'
import { Admission } from '#net/admission.ts'
import { connectionsFor, descriptorsMax } from '#net/descriptors.ts'
import { listenForChallenges } from '#net/tls/challenge-listener.ts'
import { TlsStore } from '#net/tls/tls.ts'
import type { Address, Ground, Hooks, Protocol } from '#protocol'
import { type HttpOptions, http } from '#protocols/http'
import { imap } from '#protocols/imap'
import { pop3 } from '#protocols/pop3'
import { smtp } from '#protocols/smtp'
import { openOwnCertificate } from './own-certificate.ts'

const protocols = (api: HttpOptions): readonly Protocol[] => [http(api), smtp, imap, pop3]

/** Where each listener that runs is found; `acme` is that for challenges alone. */
export type Listeners = { [Name in ListenerName | 'acme']?: Address }

/** Sessions of an account, by protocol. */
export type SessionCounts = Map<string, (user: string) => number>

/**
 * Opens every listener that is enabled.
 *
 * @param api what the API serves
 * @param counts filled with those of the protocols that can tell
 * @throws Fault PortInUse, ConfigInvalid
 */
export async function listenAll(
  core: Core,
  api: HttpOptions,
  counts: SessionCounts,
  closers: Closers,
  hooks?: Hooks,
): Promise<Listeners> {
  const open: Listeners = {}
  const opened = (name: keyof Listeners, listener: { close(): unknown; readonly address: Address }) => {
    closers.add(() => listener.close())
    open[name] = { ...listener.address }
  }
  const ground = { ...(await groundOf(core, opened, counts, closers)), hooks }
  const all = protocols(api)
  const claimed = all.flatMap(protocol => protocol.config)
  assert.deepEqual(
    claimed.toSorted(),
    listeners.toSorted(),
    'each listener of the configuration belongs to one protocol',
  )
  for (const protocol of all) await protocol.open(core, ground)
  const { config, acme } = core
  const plain = splitSocket(config.tls.acme.http)
  if (plain !== undefined) {
    const { hostname } = config
    const { admission } = ground
    opened('acme', await listenForChallenges({ ...plain, hostname, admission, challenges: acme.challenges }))
  }
  return open
}

async function groundOf(
  core: Core,
  opened: Ground['opened'],
  counts: SessionCounts,
  closers: Closers,
): Promise<Omit<Ground, 'hooks'>> {
  const { config } = core
  const own = await openOwnCertificate(core, closers)
  // A certificate for the host name is the default one where none was chosen in the configuration.
  const initial = own.chosen ? null : { name: config.hostname, pair: own.pair }
  const supply: Ground['certificates']['supply'] = sink => {
    own.follow(sink)
    core.certificates.supply(sink, { initial })
  }
  const tls = new TlsStore(own.pair, config.tls.minVersion)
  supply(tls)
  return {
    admission: admissionOf(core),
    tls,
    certificates: { own: own.pair, supply },
    opened,
    counted: (protocol, sessions) => void counts.set(protocol, sessions),
  }
}

/** How many may connect: what descriptors are left when everything else has its part. */
function admissionOf({ config, log }: Core): Admission {
  const descriptors = descriptorsMax()
  const connectionsMax = connectionsFor(descriptors)
  if (descriptors < limits.net.descriptorsMax) {
    log.warn({ descriptors, connectionsMax }, 'few files and sockets may be open at once (ulimit -n)')
  }
  return new Admission({ connectionsMax, trusted: rangesOf(config.network.proxies) })
}
