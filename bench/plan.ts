// What a run is asked for: how long each measure takes, how much is sent, whether peers are measured too.
//
// `--quick` shows whether everything works; its figures are not for writing down.

export interface Plan {
  /** Milliseconds of each measure. */
  readonly ms: number
  /** Messages of the realistic mixture. */
  readonly mixed: number
  /** Messages of a Maildir that is moved in. */
  readonly imported: number
  /** Accounts that are exported. */
  readonly accounts: number
  /** Bytes of a store that is backed up. */
  readonly stored: number
  /** Milliseconds a service is left alone before its idle memory is read. */
  readonly idleMs: number
  /** Users that log in once each while nobody knows their passwords yet. */
  readonly coldLogins: number
  /** Messages of the folder that is asked for too much of. */
  readonly attacked: number
  /** Names of the attacks that are tried; all where absent. */
  readonly attacks?: readonly string[] | undefined
  /** Where the folder that is attacked stays for the next run. */
  readonly ground?: string | undefined
  /** Where a profile of the attacked service is written, by which rows name what its longest work was. */
  readonly profile?: string | undefined
  /** `threads` of the service where a section does not choose; its default where absent. */
  readonly threads?: string | undefined
  /** Checkout of the version before, with a build. */
  readonly before?: string | undefined
  /** Names of the mixes of IMAP sessions that are tried; all where absent. */
  readonly mixes?: readonly string[] | undefined
  /** Whether other mail servers are installed, started and measured beside. */
  readonly peers: boolean
  /** Folder with messages to tell spam from ham by, in `ham` and `spam`. */
  readonly corpus?: string | undefined
}

/** As a setting of the service. */
export function threadsOf({ threads }: Plan): Readonly<Record<string, string>> {
  return threads === undefined ? {} : { TEAL_THREADS: threads }
}

export const fullPlan: Plan = {
  ms: 6000,
  mixed: 10_000,
  imported: 100_000,
  accounts: 10_000,
  stored: 2 ** 30,
  idleMs: 15_000,
  coldLogins: 500,
  attacked: 300_000,
  peers: false,
}
export const quickPlan: Plan = {
  ms: 1000,
  mixed: 500,
  imported: 20_000,
  accounts: 2000,
  stored: 2 ** 27,
  idleMs: 5000,
  coldLogins: 100,
  attacked: 20_000,
  peers: false,
}
