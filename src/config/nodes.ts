// What keys of a service whose database is behind an address have to say together.

interface Sharing {
  readonly store: { readonly url: string }
  readonly cluster: { readonly node: string; readonly nats: string }
  readonly bodies: { readonly url: string; readonly accessKey: string; readonly secretKey: string }
}

export function checkNodes({ store, cluster, bodies }: Sharing, refuse: (name: string, reason: string) => void): void {
  if (bodies.url && !store.url)
    refuse('bodies.url', 'is of use beside store.url alone: large parts are files in dataDir')
  if (bodies.url && !(bodies.accessKey && bodies.secretKey)) {
    refuse('bodies.accessKey', 'is needed beside bodies.url, and bodies.secretKey')
  }
  const { node, nats } = cluster
  if (node && !store.url) refuse('cluster.node', 'needs a database that nodes can share: store.url')
  if (node && !nats) refuse('cluster.nats', 'is needed beside cluster.node')
  if (nats && !node) refuse('cluster.node', 'is needed beside cluster.nats')
  if (nats && !nats.split(',').every(isNats))
    refuse(
      'cluster.nats',
      'must be addresses such as nats://user:password@host or tls://token@host, several with commas',
    )
  if (node && !/^[\w.-]{1,63}$/.test(node)) refuse('cluster.node', 'must be 1 to 63 letters, digits, dots and hyphens')
}

function isNats(address: string): boolean {
  if (!URL.canParse(address)) return false
  const { protocol, hostname } = new URL(address)
  return /^(?:nats|tls):$/.test(protocol) && hostname !== ''
}
