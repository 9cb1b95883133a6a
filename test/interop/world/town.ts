// What every machine of the small internet finds there: names from the root down, a certificate server, a time server, and
// certificates that everybody trusts.
//
// The names by which servers are found on the large one lead here, so that commands need not be told whom to ask.

import { type Authority, openAuthority } from '../../net/authority.ts'
import { needPrograms } from '../programs.ts'
import { listening, type Machine, openSwitch, type Program, program, until } from './machine.ts'
import { type Names, openNames } from './names.ts'

export interface Town {
  readonly names: Names
  /** Whom all trust, besides the certificate server. */
  readonly authority: Authority
  /** A machine with a name in both directions, a resolver and what everybody trusts. */
  machine(name: string, address: string): Promise<Machine>
  /** Has the time server be wrong by so many seconds. */
  time(ahead: number): Promise<void>
  close(): void
}

export const trusted = '/etc/ssl/town.pem'

const directory = 'acme-v02.api.letsencrypt.org'
const middle = '44.128.0.53'
const common = ['letsencrypt.org', 'ntp.org', 'google.com', '128.44.in-addr.arpa']

/** @param zones domains of the machines */
export async function openTown(zones: readonly string[]): Promise<Town> {
  needPrograms('pebble')
  const lines = await openSwitch()
  try {
    const internet = await lines.machine('internet', middle)
    const names = await openNames(internet, [...common, ...zones])
    await names.resolver(internet)
    await names.put(`${directory}. IN A ${middle}`, `pool.ntp.org. IN A ${middle}`)
    const authority = await openAuthority('Town root')
    const roots = await startPebble(internet, authority)
    let clock: Program | undefined
    const time = async (ahead: number) => {
      clock?.process.kill()
      await internet.run(['pkill', '-f', 'time-child'])
      clock = internet.start(['/opt/node', `${program}/test/interop/world/time-child.ts`, middle, String(ahead)])
      const look = ['sh', '-c', "exec ss -lunH 'sport = :123'"]
      await until('time', async () => (await internet.run(look)).text.trim() !== '', clock.output)
    }
    await time(0)
    return {
      ...{ names, authority, time },
      async machine(name, address) {
        const machine = await lines.machine(name, address)
        await names.resolver(machine)
        machine.write(trusted, `${authority.cert}\n${roots}`)
        machine.write('/etc/ssl/certs/ca-certificates.crt', `${authority.cert}\n${roots}`)
        return machine
      },
      close() {
        lines.close()
        names.close()
      },
    }
  } catch (error) {
    lines.close()
    throw error
  }
}

/** @returns what it certifies with */
async function startPebble(machine: Machine, authority: Authority): Promise<string> {
  const { key, cert } = await authority.issue({ commonName: directory, names: [directory] })
  machine.write('/etc/pebble/key.pem', key)
  machine.write('/etc/pebble/cert.pem', cert)
  const pebble = {
    ...{ listenAddress: `${middle}:14000`, managementListenAddress: '127.0.0.1:15000', httpPort: 80, tlsPort: 443 },
    ...{ certificate: '/etc/pebble/cert.pem', privateKey: '/etc/pebble/key.pem' },
  }
  machine.write('/etc/pebble/pebble.json', JSON.stringify({ pebble }))
  const words = ['pebble', '-config', '/etc/pebble/pebble.json', '-dnsserver', '127.0.0.1:53']
  const daemon = machine.start(words, { PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '5' })
  await listening(machine, 14_000, daemon.output)
  const asked = ['--resolve', `${directory}:14000:${middle}`, `https://${directory}:14000/dir`]
  const text = await machine.good(['curl', '-sSk', ...asked])
  const files = ['/etc/pebble/key.pem', '/etc/pebble/cert.pem']
  machine.start(['/opt/node', `${program}/test/interop/world/directory-child.ts`, middle, ...files, text])
  await listening(machine, 443)
  return machine.good(['curl', '-sSk', 'https://127.0.0.1:15000/roots/0'])
}
