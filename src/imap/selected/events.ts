// What a client may register for with NOTIFY (RFC 5465): the events of the selected folder and of others.
//
// Data alone: its grammar is command/notify.ts's, telling notices.ts's.

import type { FetchItem } from '../wire/item.ts'

/** Events of the selected folder. */
export interface SelectedEvents {
  /** Messages are told gone only where a command allows it. */
  readonly delayed: boolean
  readonly flags: boolean
  /** What is told of a new message. */
  readonly items: readonly FetchItem[]
}

/** Events of other folders. */
export interface EventGroup {
  /** Every folder, those subscribed to, those at the paths, or those at or below them. */
  readonly which: 'all' | 'subscribed' | 'mailboxes' | 'subtree'
  readonly paths: ReadonlySet<string>
  /** Nothing at all of these folders, whatever other groups say. */
  readonly none: boolean
  readonly messages: boolean
  readonly flags: boolean
  readonly names: boolean
  readonly subscriptions: boolean
}

export interface Registration {
  /** Undefined where the client wants to hear nothing of the selected folder. */
  readonly selected: SelectedEvents | undefined
  readonly groups: readonly EventGroup[]
}

/** NOTIFY NONE. */
export const silence: Registration = { selected: undefined, groups: [] }
