// The names of a small internet: one server that has every zone, each signed from the root down, and resolvers that prove what
// they say.
//
// Zones are signed anew whenever they change. A zone can be broken in the ways zones break: signed with a key nobody vouches
// for, or gone.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folder, good, needPrograms } from '../programs.ts'
import { listening, type Machine, until } from './machine.ts'

export interface Names {
  /** Puts records in, as zone files have them; those of the same name and kind go. */
  put(...records: string[]): Promise<void>
  /** Takes away what a name has (of one kind). */
  drop(name: string, kind?: string): Promise<void>
  /** Has a zone be signed with a key that its parent does not know, or again with its own. */
  forge(zone: string, forged: boolean): Promise<void>
  /** A resolver on a machine of its own, which the machine asks from then on, and others may. */
  resolver(machine: Machine): Promise<void>
}

interface Zone {
  readonly name: string
  /** Base names of its key and of one that nobody knows. */
  readonly key: string
  readonly stranger: string
  readonly records: Map<string, string[]>
  forged: boolean
}

const algorithm = 'ECDSAP256SHA256'

/** @param zones names without the last dot; '' is added, the root */
export async function openNames(server: Machine, zones: readonly string[]): Promise<Names & { close(): void }> {
  needPrograms('nsd', 'ldns-signzone', 'unbound')
  const place = folder()
  const make = async (name: string) => {
    const words = ['-a', algorithm, '-k', `${name}.`]
    const [key = '', stranger = ''] = await Promise.all(
      [0, 1].map(async () => (await good('sh', ['-c', `cd ${place.path} && ldns-keygen ${words.join(' ')}`])).trim()),
    )
    return { name, key, stranger, records: new Map<string, string[]>(), forged: false }
  }
  const all: Zone[] = []
  for (const name of ['', ...zones]) all.push(await make(name))
  const zoneOf = (name: string) =>
    all
      .filter(zone => zone.name === '' || name === zone.name || name.endsWith(`.${zone.name}`))
      .sort((one, other) => other.name.length - one.name.length)[0] as Zone
  let serial = 1
  const write = async (zone: Zone) => {
    const file = join(place.path, `zone${all.indexOf(zone)}`)
    writeFileSync(file, textOf(zone, ++serial, server.address, all, place.path))
    await good('ldns-signzone', ['-o', `${zone.name}.`, '-f', `${file}.signed`, file, keyFile(place.path, zone)])
    server.write(`/etc/nsd/zone${all.indexOf(zone)}`, readFileSync(`${file}.signed`, 'utf8'))
  }
  for (const zone of all) await write(zone)
  server.write('/etc/nsd/nsd.conf', settingsOf(server.address, all))
  mkdirSync(server.path('/run/nsd'), { recursive: true })
  const daemon = server.start(['nsd', '-d', '-c', '/etc/nsd/nsd.conf'])
  await listening(server, 53, daemon.output)
  const reload = async (changed: Iterable<Zone>) => {
    for (const zone of new Set(changed)) await write(zone)
    await server.good(['nsd-control', '-c', '/etc/nsd/nsd.conf', 'reload'])
    // What could not be believed is remembered for a minute otherwise.
    const forget = ['unbound-control', '-c', '/etc/unbound/unbound.conf', 'reload']
    await Promise.all(resolvers.map(machine => machine.good(forget)))
  }
  const resolvers: Machine[] = []
  return {
    async put(...records) {
      const parsed = records.map(parse)
      for (const { name, kind } of parsed) zoneOf(name).records.delete(`${name} ${kind}`)
      for (const { name, kind, data } of parsed) {
        const { records } = zoneOf(name)
        records.set(`${name} ${kind}`, [...(records.get(`${name} ${kind}`) ?? []), data])
      }
      await reload(parsed.map(({ name }) => zoneOf(name)))
    },
    async drop(name, kind) {
      const zone = zoneOf(name)
      for (const key of [...zone.records.keys()]) {
        if (key === `${name} ${kind}` || (kind === undefined && key.startsWith(`${name} `))) zone.records.delete(key)
      }
      await reload([zone])
    },
    async forge(name, forged) {
      const zone = zoneOf(name)
      zone.forged = forged
      await reload([zone])
    },
    async resolver(machine) {
      const anchor = trustAnchor(place.path, all[0] as Zone)
      await startResolver(machine, { root: server.address, anchor, open: machine !== server })
      resolvers.push(machine)
    },
    close: () => place.remove(),
  }
}

const keyFile = (path: string, { key, stranger, forged }: Zone) => join(path, forged ? stranger : key)

/** `name [ttl] IN KIND data`, with the last dots. */
function parse(record: string): { name: string; kind: string; data: string } {
  const [, name = '', kind = '', data = ''] = /^(\S*)\.\s+(?:\d+\s+)?(?:IN\s+)?([A-Z]+)\s+(.*)$/.exec(record) ?? []
  if (kind === '') throw new Error(`no record: ${record}`)
  return { name: name.toLowerCase(), kind, data }
}

function textOf(zone: Zone, serial: number, address: string, all: readonly Zone[], path: string): string {
  const ns = 'ns.root-servers.net.'
  const lines = [
    `${zone.name}. 1 IN SOA ${ns} hostmaster.${ns} ${serial} 3600 600 86400 1`,
    `${zone.name}. 1 IN NS ${ns}`,
    ...(zone.name === '' ? [`${ns} 1 IN A ${address}`] : []),
  ]
  if (zone.name === '') {
    for (const child of all.slice(1)) {
      lines.push(`${child.name}. 1 IN NS ${ns}`, readFileSync(join(path, `${child.key}.ds`), 'utf8').trim())
    }
  }
  for (const [key, values] of zone.records) {
    const [name, kind] = key.split(' ')
    for (const value of values) lines.push(`${name}. 1 IN ${kind} ${value}`)
  }
  return `${lines.join('\n')}\n`
}

function trustAnchor(path: string, root: Zone): string {
  return readFileSync(join(path, `${root.key}.ds`), 'utf8').trim()
}

function settingsOf(address: string, zones: readonly Zone[]): string {
  const server = `server:
  ip-address: ${address}
  server-count: 1
  username: root
  zonesdir: /etc/nsd
  pidfile: ""
  xfrdfile: ""
  zonelistfile: ""
  hide-version: yes
remote-control:
  control-enable: yes
  control-interface: /run/nsd/control.sock
`
  const each = zones.map(({ name }, at) => `zone:\n  name: "${name}."\n  zonefile: zone${at}\n`)
  return `${server}${each.join('')}`
}

/** Zones that resolvers keep to themselves unless told otherwise are asked for, too; what is not there is forgotten at once. */
async function startResolver(
  machine: Machine,
  { root, anchor, open }: { readonly root: string; readonly anchor: string; readonly open: boolean },
): Promise<void> {
  machine.write(
    '/etc/unbound/root.hints',
    `. 3600000 NS ns.root-servers.net.\nns.root-servers.net. 3600000 A ${root}\n`,
  )
  machine.write(
    '/etc/unbound/unbound.conf',
    `server:
  interface: 127.0.0.1
${open ? `  interface: ${machine.address}\n  access-control: 44.128.0.0/16 allow\n` : ''}  username: ""
  chroot: ""
  directory: "/etc/unbound"
  pidfile: ""
  use-syslog: no
  do-ip6: no
  module-config: "validator iterator"
  root-hints: /etc/unbound/root.hints
  trust-anchor: "${anchor}"
  unblock-lan-zones: yes
  cache-max-ttl: 1
  cache-max-negative-ttl: 1
  val-bogus-ttl: 1
  infra-host-ttl: 1
  qname-minimisation: no
  num-threads: 1
  logfile: ""
remote-control:
  control-enable: yes
  control-interface: /run/unbound.control
`,
  )
  machine.write('/etc/resolv.conf', 'nameserver 127.0.0.1\noptions edns0 trust-ad\n')
  const daemon = machine.start(['unbound', '-d', '-c', '/etc/unbound/unbound.conf'])
  await listening(machine, 53, daemon.output)
  const asked = ['drill', '-D', 'SOA', '.', '@127.0.0.1']
  const proven = async () => / ad[; ]/.test((await machine.run(asked)).text)
  await until(`${machine.name}: a resolver that proves`, proven, () => daemon.output())
}
