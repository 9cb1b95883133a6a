// What watchers of an account hear after a commit: IMAP views, update streams.
//
// Every change carries the change number it was committed with; numbers of one account never fall.

export type Change =
  | {
      readonly kind: 'exists'
      readonly mailbox: number
      readonly uid: number
      readonly num: number
      readonly modseq: number
      readonly flags: number
      readonly keywords: readonly string[]
      readonly idate: number
      readonly size: number
      readonly thread: number
    }
  | {
      readonly kind: 'flags'
      readonly mailbox: number
      readonly uid: number
      readonly num: number
      readonly modseq: number
      readonly flags: number
      readonly keywords: readonly string[]
      readonly thread: number
    }
  | {
      readonly kind: 'expunge'
      readonly mailbox: number
      readonly uid: number
      readonly num: number
      readonly modseq: number
      readonly thread: number
    }
  | {
      readonly kind: 'mailbox'
      readonly what: 'created' | 'renamed' | 'deleted' | 'changed'
      readonly mailbox: number
      readonly id: string
      readonly path: string
      readonly modseq: number
    }
  | {
      /** Anything may have happened to the folder: who kept what he was told looks at rows. */
      readonly kind: 'missed'
      readonly mailbox: number
      /** 0: nobody knows. */
      readonly modseq: number
    }
  | {
      readonly kind: 'counters'
      readonly mailbox: number
      readonly total: number
      readonly unseen: number
      readonly modseq: number
    }
