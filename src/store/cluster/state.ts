// All nodes as one of them sees them: what `teal cluster status`, /health and the metrics show.
//
// Shares are those of its last beat, and how far another node is behind is what that one has said itself.

export interface ClusterState {
  /** This one. */
  readonly node: string
  /** Whether there is a line to the others. */
  readonly connected: boolean
  /** What was asked of others and is not answered yet. */
  readonly waiting: number
  readonly nodes: {
    readonly name: string
    readonly alive: boolean
    /** It takes nothing any more. */
    readonly leaving: boolean
    /** Leases it has, those for what runs once included. */
    readonly shards: number
    /** For how long its leases have run out. */
    readonly silentMs: number
    /** How long ago they were renewed, by the database's clock. */
    readonly renewedMs: number
    /** Notices and questions of this node that it has not confirmed yet. */
    readonly behind: number
  }[]
}
