// What keys of a service that shares its database with others have to say together.

interface Sharing {
  readonly store: { readonly url: string }
  readonly cluster: { readonly node: string; readonly nats: string }
}

export function checkNodes({ store, cluster }: Sharing, refuse: (name: string, reason: string) => void): void {
  const { node, nats } = cluster
  if (node && !store.url) refuse('cluster.node', 'needs a database that nodes can share: store.url')
  if (node && !nats) refuse('cluster.nats', 'is needed beside cluster.node')
  if (nats && !node) refuse('cluster.node', 'is needed beside cluster.nats')
  if (node && !/^[\w.-]{1,63}$/.test(node)) refuse('cluster.node', 'must be 1 to 63 letters, digits, dots and hyphens')
}
