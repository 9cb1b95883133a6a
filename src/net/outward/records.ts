// Names of hosts in the domain name system, for a command that looks whether they are set.

import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'

export type RecordKind = 'A' | 'AAAA' | 'MX' | 'TXT' | 'SRV' | 'CNAME' | 'PTR'

const waitMs = 3000

/** Whether `text` is an IP address, with or without a port (`[::1]:53`). */
export function isServer(text: string): boolean {
  const address = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
  return isIP(address) !== 0
}

/**
 * What a name holds, each as text; empty where it holds nothing, null where nobody answered.
 *
 * @param servers addresses of who is asked, with or without a port; this machine's resolver where there is none
 */
export async function lookUp(name: string, kind: RecordKind, servers: readonly string[]): Promise<string[] | null> {
  const resolver = new Resolver({ timeout: waitMs, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers)
  try {
    if (kind === 'MX')
      return (await resolver.resolveMx(name)).map(({ priority, exchange }) => `${priority} ${exchange}.`)
    if (kind === 'TXT') return (await resolver.resolveTxt(name)).map(parts => parts.join(''))
    if (kind === 'CNAME') return (await resolver.resolveCname(name)).map(one => `${one}.`)
    if (kind === 'A') return await resolver.resolve4(name)
    if (kind === 'AAAA') return await resolver.resolve6(name)
    if (kind === 'PTR') return await resolver.resolvePtr(name)
    const found = await resolver.resolveSrv(name)
    return found.map(one => `${one.priority} ${one.weight} ${one.port} ${one.name}.`)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    return code === 'ENOTFOUND' || code === 'ENODATA' ? [] : null
  }
}
