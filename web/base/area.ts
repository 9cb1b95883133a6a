// A part of the page that is loaded when somebody goes there: the account, the service, mail.
//
// An area brings its places and the menu beside them, with texts of its own; the shell (shell.tsx) shows them. Areas know nothing of each other.

import type { IconName } from './icon.tsx'
import type { Catalogue } from './language.ts'
import type { Route } from './router.ts'
import type { Session } from './session.ts'

/** A line of the menu at the side. */
export interface Item {
  /** Below /app; what lies below it belongs to it. */
  readonly path: string
  readonly icon: IconName
  readonly label: string
}

export interface Group {
  readonly label: string
  readonly items: readonly Item[]
}

export interface Area {
  readonly routes: readonly Route[]
  /** In the language that is shown, what this session may see. */
  menu(session: Session): readonly Group[]
  /** Whether its pages take the whole width of the window. Default: a column for reading. */
  readonly isWide?: boolean
}

/** What is known of an area before it is loaded. */
export interface AreaEntry {
  /** The first part of its places: `account` for /app/account. */
  readonly name: string
  readonly icon: IconName
  label(): string
  isOpen(session: Session): boolean
  /** Loaded with it, before anything of it is shown. */
  readonly texts: Catalogue<unknown>
  load(): Promise<Area>
  /** Whether it may keep something here of an account that the service has not, and would ask about before somebody signs out. */
  mayKeep?(user: string): boolean
}
