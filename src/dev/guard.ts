// Keeps pages of other origins away from a server on a developer's machine, which every page in his browser can reach.
//
// Two ways lead in: a name of the attacker's that is made to point here (DNS rebinding), which the Host field tells, and
// requests across origins, which Origin and Sec-Fetch-Site tell (Fetch 3.2, Fetch Metadata 2.3). Programs send neither of
// the latter. Passing is no login: whoever can reach the port as a program may use it.

export interface GuardRules {
  /** Names in lower case, besides those that always mean this machine. */
  readonly names: ReadonlySet<string>
  /** Also names without a dot: those of containers, of which no public name is one. */
  readonly bare: boolean
}

export interface Asking {
  readonly method: string
  readonly path: string
  readonly host: string | undefined
  readonly origin: string | undefined
  /** Sec-Fetch-Site and Sec-Fetch-Mode. */
  readonly site: string | undefined
  readonly mode: string | undefined
}

/** Why a request is refused; undefined where it is welcome. */
export function refusal(
  { method, path, host = '', origin, site, mode }: Asking,
  rules: GuardRules,
): string | undefined {
  const name = nameOf(host)
  if (name === undefined || !isOwn(name, rules)) {
    return `The host '${host.slice(0, 100)}' is not one of this service; --allow-host adds a name`
  }
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) {
    return 'Pages of other origins may not use this service'
  }
  // A link from elsewhere may lead to the page, and to nothing that does something.
  const followed = mode === 'navigate' && method === 'GET' && path === '/'
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !followed) {
    return 'Pages of other sites may not use this service'
  }
  return undefined
}

function nameOf(host: string): string | undefined {
  return /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec(host.toLowerCase())?.[1]?.replace(/\.$/, '')
}

function isOwn(name: string, { names, bare }: GuardRules): boolean {
  if (name === 'localhost' || name.endsWith('.localhost') || names.has(name)) return true
  // A name that was made to point here is no address.
  if (name.startsWith('[') || /^[\d.]+$/.test(name)) return true
  return bare && /^[a-z][a-z0-9_-]*$/.test(name)
}
