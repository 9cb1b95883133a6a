// Puts a service among others where the configuration says so; what it takes for that is loaded only then.
//
// Promises: before this node serves anything it has joined, heard who has what, and is heard by the others; when it stops, others
// have what it had before its sessions end.

import type { Config } from '#config'
import { clockCorrection } from '#lib/clock.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import type { Leases } from '#store/cluster/leases.ts'
import type { ClusterState } from '#store/cluster/state.ts'
import type { Changes, Watched } from '#store/engine/watched.ts'
import type { Broker } from './broker.ts'
import type { Cluster, ClusterOf } from './cluster.ts'

/** One node among others. */
interface Joined {
  readonly leases: Leases
  readonly broker: Broker
}

interface Undone {
  add(task: () => unknown): void
}

/** @throws Fault DataDirectoryInUse, StorageUnavailable, DataMissing */
export async function joinNodes(
  { cluster, store, bodies }: Config,
  log: Log,
  { mayBeNew }: { readonly mayBeNew: boolean },
  closers: Undone,
): Promise<Joined | undefined> {
  const name = cluster.node
  if (name === '') return undefined
  const { connectBroker } = await import('./broker.ts')
  // First: accounts that came to who cannot speak with the others would be served by nobody.
  const broker = await connectBroker(cluster, name, log)
  closers.add(() => broker.close())
  const { Leases: joined } = await import('#store/cluster/leases.ts')
  const leases = await joined.join({ settings: { url: store.url }, name, bodies: bodies.url, log, mayBeNew })
  closers.add(() => leases.leave())
  return { leases, broker }
}

/** What of the service takes part, besides what is asked of it. */
interface Around {
  readonly writer: {
    readonly changes: Changes
    announce: ((changed: readonly Watched[]) => Promise<void>) | undefined
  }
  /** Called after a commit that left something to do. */
  readonly listeners: ((work: boolean) => void)[]
  readonly metrics: Metrics
  readonly closers: Undone
}

export async function openCluster(
  joined: Joined | undefined,
  parts: Omit<ClusterOf, 'broker' | 'leases' | 'changes' | 'onCommit'>,
  { writer, listeners, metrics, closers }: Around,
): Promise<Cluster | undefined> {
  if (joined === undefined) return undefined
  const { Cluster: opened } = await import('./cluster.ts')
  const cluster = await opened.open({
    ...{ ...parts, ...joined, changes: writer.changes },
    onCommit: announce => {
      writer.announce = announce
    },
  })
  closers.add(() => cluster.close())
  listeners.push(() => cluster.kick())
  const ofEach = (name: string, text: string, value: (node: ClusterState['nodes'][number]) => number) =>
    metrics.observeEach(name, text, 'node', async () => {
      return cluster.state.nodes.map((node): [string, number] => [node.name, value(node)])
    })
  ofEach('cluster_shards', 'Leases that each node has', ({ shards }) => shards)
  ofEach('cluster_behind', 'Notices and questions of this node that each has not confirmed', ({ behind }) => behind)
  ofEach('cluster_renewed_seconds', 'Since the leases of each node were renewed', ({ renewedMs }) => renewedMs / 1000)
  const off = 'What is added to the clock of the machine, so that it is that of the database'
  metrics.observe('cluster_clock_correction_seconds', off, () => clockCorrection() / 1000)
  metrics.observe('cluster_waiting', 'Calls to other nodes that wait for their answer', () => cluster.open)
  // First of all others get what is here: sessions that end meanwhile find it there.
  closers.add(() => cluster.leave())
  return cluster
}
