// Where a test may lay a hand on a session: refuse, delay or cut it at a step, as a bad network or a strict peer would.
//
// Nothing but teal/testing gives one of these; without it a session asks once whether there is one and goes on. What comes
// back is written as it is, so it must be a line of the protocol without its end.

/** A step of a session that is about to be taken. */
export interface Step {
  readonly protocol: 'smtp' | 'imap' | 'pop3' | 'http'
  /** `connect`, `end` (all bytes of a message are there), or the command's name; over HTTP the method. */
  readonly at: string
  /** What stands behind the command; over HTTP the path. */
  readonly argument: string
  /** Envelope sender, once it is known. */
  readonly from?: string
}

/** What happens instead; nothing where the step is to be taken. */
export type Verdict = { readonly reply: string } | { readonly drop: true } | undefined

/** Decides about a step; it may take its time. */
export type Intercept = (step: Step) => Verdict | Promise<Verdict>
