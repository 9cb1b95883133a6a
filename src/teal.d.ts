// What those see who use Teal as a library: written by hand, so that it holds what is promised and nothing else, and needs
// no types of any package. src/library.ts must fit it; the compiler says whether it does.

/** Any part of the settings, as a TOML file has them: `{ quota: { storage: '10MB' } }`. `teal config sample` lists them. */
export interface ConfigPart {
  readonly [key: string]: string | number | boolean | readonly string[] | ConfigPart | undefined
}

/** Where a listener is found. */
export interface ListenerAddress {
  readonly host: string
  readonly port: number
}

export type ListenerName =
  | 'api'
  | 'web'
  | 'smtp'
  | 'lmtp'
  | 'submission'
  | 'submissions'
  | 'imap'
  | 'imaps'
  | 'pop3'
  | 'pop3s'
  | 'acme'

export interface Teal {
  /** Base address of the HTTP API; empty where it is off. */
  readonly url: string
  /** A token of role root, for the header `X-Access-Token`. */
  readonly rootToken: string
  /** Those that run. */
  readonly listeners: { readonly [Name in ListenerName]?: ListenerAddress }
  /** Every broken invariant of the store; empty when all is well. */
  check(): Promise<string[]>
  /** Drains and stops; nothing acknowledged is lost. A temporary folder is removed. Calling it again changes nothing. */
  close(): Promise<void>
}

export interface StartOptions {
  /**
   * Whether the process stays alive until `close`, for one that does nothing else. Otherwise it ends when the rest of the
   * program has, as a test does that forgets to close: what was acknowledged is on disk, a temporary folder is removed.
   */
  readonly keepAlive?: boolean
}

/**
 * Runs a whole service in this process. Without `dataDir` it gets a temporary folder that is removed when it closes;
 * without ports it takes free ones; it logs nothing unless told to. Several may run at once.
 *
 * HTTP is spoken by Node's own server; `{ api: { front: 'uWebSockets.js' } }` takes the faster one where that package is
 * installed, and keeps the process alive until `close`.
 *
 * @throws Error with `code` PortInUse, DataDirectoryInUse, ConfigInvalid and others, and a text that says what is wrong
 */
export function startTeal(options?: ConfigPart, how?: StartOptions): Promise<Teal>
