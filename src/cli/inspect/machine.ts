// Whether a machine is fit to be a mail server: its resolver, its name and addresses and what they are called in return, the way
// out to port 25, lists that name it, its clock and its disk.
//
// Everything is looked at and nothing changed. What cannot be found out from here says so.

import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import ipaddr from 'ipaddr.js'
import { randomHex } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { isPublic, ownAddresses } from '#net/outward/own-addresses.ts'
import { clockOffset, greeting } from '#net/outward/probe.ts'
import { lookUp } from '#net/outward/records.ts'
import { blobsDir, scratchDir } from '#store/folder/place.ts'
import { type Finding, good, unknown, warning, wrong } from './finding.ts'

/** Whom to ask; each has a default. */
export interface Askable {
  /** DNS servers; none: those of the system. */
  readonly servers: readonly string[]
  /** A mail server of others, `host:port`, that port 25 is tried with. */
  readonly mailHost: string
  /** `host`, with `:port` if need be. */
  readonly timeServer: string
}

export const usual: Askable = {
  servers: [],
  mailHost: 'gmail-smtp-in.l.google.com:25',
  timeServer: 'pool.ntp.org',
}

/** Lists that many servers ask, where the configuration names none. */
const knownLists = ['zen.spamhaus.org', 'bl.spamcop.net', 'b.barracudacentral.org']

const probeBytes = 8

export async function lookAtResolver(servers: readonly string[]): Promise<Finding> {
  const name = `${randomHex(probeBytes)}.invalid`
  const found = await lookUp(name, 'A', servers)
  const whose = servers.length > 0 ? servers.join(', ') : 'those of /etc/resolv.conf'
  if (found === null) {
    const advice = 'Name one that works in /etc/resolv.conf, best a resolver of your own (apt install unbound).'
    return wrong('resolver', `No DNS server answers (${whose}).`, { advice })
  }
  if (found.length > 0) {
    const text = `The DNS server lies: it says that ${name}, which cannot exist, is ${found[0]} (${whose}).`
    const advice = 'Use a resolver of your own (apt install unbound) and name it in /etc/resolv.conf.'
    return wrong('resolver', text, { advice })
  }
  return good('resolver', 'DNS answers, and truthfully.')
}

export interface OwnName {
  readonly findings: readonly Finding[]
  /** Where the name leads. */
  readonly addresses: readonly string[]
  /** Whether it leads to others. */
  readonly foreign: boolean
}

/** The host name: where it leads, whether that is here, and what its addresses are called in return. */
export async function lookAtName(hostname: string, servers: readonly string[]): Promise<OwnName> {
  if (!hostname.includes('.') || hostname.endsWith('.localhost')) {
    const advice = 'Set hostname to the name that others reach this machine by, such as mail.example.org.'
    return {
      findings: [wrong('name', `${hostname} is no name on the internet.`, { advice })],
      addresses: [],
      foreign: false,
    }
  }
  const asked = await Promise.all((['A', 'AAAA'] as const).map(kind => lookUp(hostname, kind, servers)))
  const addresses = asked.flatMap(found => found ?? [])
  if (addresses.length === 0 && asked.includes(null)) {
    return { findings: [unknown('name', `Nobody says where ${hostname} leads.`)], addresses, foreign: false }
  }
  const own = ownAddresses()
  const mine = own.filter(isPublic)
  const calledOf = (some: readonly string[]) =>
    Promise.all(some.map(address => lookAtReverse(address, hostname, servers)))
  if (addresses.length === 0) {
    const advice = `Add an A record${mine.length > 0 ? ` with ${mine.join(', ')}` : ' with the address of this machine'}.`
    const bare = wrong('name', `${hostname} has no address in DNS.`, { advice })
    return { findings: [bare, ...(await calledOf(mine))], addresses, foreign: false }
  }
  const called = await calledOf(addresses)
  const here = addresses.some(address => own.includes(address))
  const foreign = !here && mine.length > 0
  const where = `${hostname} leads to ${addresses.join(', ')}`
  const first = here
    ? good('name', `${where}, which is here.`)
    : foreign
      ? wrong('name', `${where}, which is not this machine (${mine.join(', ')}).`, {
          advice: 'Change its A record, or hostname.',
        })
      : warning('name', `${where}; this machine has private addresses only.`, {
          advice: 'That is right where a router passes the ports on to it.',
        })
  return { findings: [first, ...called], addresses, foreign }
}

async function lookAtReverse(address: string, hostname: string, servers: readonly string[]): Promise<Finding> {
  const found = await lookUp(reversed(address), 'PTR', servers)
  const subject = address
  if (found === null) return unknown('ptr', `Nobody says what ${address} is called.`, { subject })
  if (found.some(name => name.toLowerCase().replace(/\.$/, '') === hostname.toLowerCase())) {
    return good('ptr', `${address} is called ${hostname}.`, { subject })
  }
  const called = found.length === 0 ? 'has no name' : `is called ${found.join(', ')}`
  const advice = `Whoever the address is rented from sets its reverse record (PTR): to ${hostname}.`
  return wrong('ptr', `${address} ${called}, so many servers refuse mail from it.`, { subject, advice })
}

/** Whether mail can leave. */
export async function lookAtWayOut(mailHost: string): Promise<Finding> {
  const [host = '', port = '25'] = mailHost.split(':')
  const said = await greeting(host, Number(port))
  if (said?.startsWith('220') === true) return good('port-25-out', `Port ${port} of ${host} is reached.`)
  const advice = 'Many providers close port 25 until asked to open it; else set outbound.relay to a relay.'
  const text =
    said === undefined
      ? `Port ${port} of ${host} is not reached: mail cannot leave.`
      : `Port ${port} of ${host} answers otherwise than a mail server (${said || 'nothing'}): something is in between.`
  return wrong('port-25-out', text, { advice })
}

/**
 * Whether mail can come in: each address that the name leads to, asked as others ask it. A firewall of the provider's is not seen from
 * here, and a router that does not lead back in is not one that keeps others out.
 */
export async function lookAtWayIn(hostname: string, addresses: readonly string[], port = 25): Promise<Finding[]> {
  const own = ownAddresses()
  return Promise.all(
    addresses.map(async address => {
      const subject = address
      const said = await greeting(address, port)
      if (said?.startsWith('220') === true) {
        if (said.toLowerCase().includes(hostname.toLowerCase()))
          return good('port-25-in', `Port ${port} of ${address} answers.`, { subject })
        const advice = `If that is no gateway of yours, take ${address} out of the records of ${hostname}.`
        return warning('port-25-in', `Another mail server answers on port ${port} of ${address}.`, { subject, advice })
      }
      if (said === undefined && !own.includes(address)) {
        const advice = `Look from another network: nc -vz ${hostname} ${port}.`
        return unknown('port-25-in', `Port ${port} of ${address} is not reached from here.`, { subject, advice })
      }
      const text = `No mail server answers on port ${port} of ${address}, where ${hostname} leads: mail does not come in.`
      const advice = `Have smtp.host listen there (:: is every address), or take ${address} out of the records of ${hostname}.`
      return wrong('port-25-in', text, { subject, advice })
    }),
  )
}

/** Lists in DNS of hosts to distrust (RFC 5782) that name one of the addresses. */
export async function lookAtLists(
  addresses: readonly string[],
  lists: readonly string[],
  servers: readonly string[],
): Promise<Finding[]> {
  const zones = lists.length > 0 ? lists.map(list => list.split('=')[0] ?? '') : knownLists
  const seen = addresses.filter(isPublic)
  const pairs = seen.flatMap(address => zones.map(zone => ({ address, zone })))
  const found = await Promise.all(
    pairs.map(async ({ address, zone }) => {
      const name = reversed(address).replace(/\.(in-addr|ip6)\.arpa$/, `.${zone}`)
      return { address, zone, answers: (await lookUp(name, 'A', servers)) ?? [] }
    }),
  )
  // 127.255.255.x says that whoever asks may not.
  const refused = found.filter(({ answers }) => answers.some(one => one.startsWith('127.255.255.')))
  const listed = found.filter(one => !refused.includes(one) && one.answers.some(answer => answer.startsWith('127.')))
  if (seen.length === 0) return []
  const asked = zones.filter(zone => !refused.some(one => one.zone === zone))
  return [
    ...listed.map(({ address, zone }) =>
      wrong('blocklist', `${address} is on the list ${zone}.`, {
        subject: address,
        advice: `Find out why (https://${zone.split('.').slice(-2).join('.')}), mend it, and ask to be taken off.`,
      }),
    ),
    ...(refused.length === 0
      ? []
      : [
          unknown(
            'blocklist',
            `${refused.map(({ zone }) => zone).join(', ')} does not answer the resolver of this machine.`,
          ),
        ]),
    ...(listed.length === 0 && asked.length > 0 ? [good('blocklist', `On none of ${asked.join(', ')}.`)] : []),
  ]
}

export async function lookAtClock(timeServer: string): Promise<Finding> {
  const offset = await clockOffset(timeServer)
  if (offset === undefined) return unknown('clock', `${timeServer} does not say what time it is.`)
  const seconds = Math.round(Math.abs(offset) / 1000)
  if (Math.abs(offset) <= limits.probe.clockOffMs) return good('clock', 'The clock is right.')
  const advice = 'Have it set by itself: timedatectl set-ntp true.'
  return wrong('clock', `The clock is ${seconds} seconds ${offset > 0 ? 'behind' : 'ahead'}.`, { advice })
}

/** Kinds of file systems that lie on another machine, by their numbers (statfs(2)). */
const remoteKinds: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4266872130: 'SMB',
  4283649346: 'SMB',
}

/** @param type of the file system; undefined for one of this machine */
export function lookAtKind(dataDir: string, type: number): Finding | undefined {
  const kind = remoteKinds[type]
  if (kind === undefined) return undefined
  const advice =
    'Move it to a disk of this machine: what is on disk there, and who holds a lock, is the word of another one.'
  return warning('disk', `${dataDir} lies on ${kind}.`, { advice })
}

/** That of a data directory, and those of folders in it that lie elsewhere: a full one puts large mail off, whatever room the others have. */
export function lookAtDisks(dataDir: string): Finding[] {
  const seen = new Set([diskOf(dataDir)])
  const elsewhere = [blobsDir(dataDir), scratchDir(dataDir)].filter(folder => {
    const disk = diskOf(folder)
    if (disk === undefined || seen.has(disk)) return false
    seen.add(disk)
    return true
  })
  return [dataDir, ...elsewhere].map(lookAtDisk)
}

function diskOf(folder: string): number | undefined {
  return statSync(folder, { throwIfNoEntry: false })?.dev
}

/** @param dataDir need not be there yet */
export function lookAtDisk(dataDir: string): Finding {
  const { diskFreeBytesMin, diskFreeShareMin } = limits.probe
  let folder = dataDir
  for (;;) {
    try {
      const { bavail, blocks, bsize, files, ffree, type } = statfsSync(folder)
      const free = bavail * bsize
      const told = `${Math.floor(free / 2 ** 20)} MiB free for ${dataDir}`
      const advice = 'Make room, or move the folder to a larger disk: mail is put off when it is full.'
      if (free < diskFreeBytesMin) return wrong('disk', `Only ${told}.`, { advice })
      if (free < blocks * bsize * diskFreeShareMin) return warning('disk', `Nearly full: ${told}.`, { advice })
      if (files > 0 && ffree < files * diskFreeShareMin) return warning('disk', 'Nearly no more files fit.', { advice })
      return lookAtKind(dataDir, type) ?? good('disk', `${told}.`)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'ENOENT' || dirname(folder) === folder)
        return unknown('disk', `${folder} cannot be looked at (${code}).`)
      folder = dirname(folder)
    }
  }
}

/** The name under which DNS has what an address is called. */
function reversed(address: string): string {
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return `${parsed.octets.toReversed().join('.')}.in-addr.arpa`
  const digits = parsed.toByteArray().flatMap(byte => [byte >> 4, byte & 15])
  return `${digits
    .toReversed()
    .map(digit => digit.toString(16))
    .join('.')}.ip6.arpa`
}
