// What the model's sessions register for by NOTIFY (RFC 5465), in every combination that makes a difference to what they
// are told of the selected folder and of others.

export interface Wish {
  readonly command: string
  /** What is told of the selected folder; undefined where nothing is but what the session itself took away. */
  readonly selected?: {
    /** Messages that went wait for a command. */
    readonly delayed: boolean
    readonly flags: boolean
    /** New messages come with their flags. */
    readonly items: boolean
  }
  /** Other folders are told by their counters: where messages come and go, and where flags change. */
  readonly messages: boolean
  readonly flags: boolean
}

const nothing = { messages: false, flags: false }

export const wishes: readonly Wish[] = [
  { command: 'NOTIFY NONE', ...nothing },
  {
    command: 'NOTIFY SET (SELECTED (MessageNew MessageExpunge FlagChange))',
    selected: { delayed: false, flags: true, items: false },
    ...nothing,
  },
  {
    command: 'NOTIFY SET (SELECTED (MessageNew (FLAGS) MessageExpunge))',
    selected: { delayed: false, flags: false, items: true },
    ...nothing,
  },
  {
    command: 'NOTIFY SET (SELECTED-DELAYED (MessageNew (UID FLAGS) MessageExpunge FlagChange))',
    selected: { delayed: true, flags: true, items: true },
    ...nothing,
  },
  {
    command: `NOTIFY SET (SELECTED (MessageNew MessageExpunge FlagChange))
      (personal (MessageNew MessageExpunge FlagChange))`.replace(/\s+/g, ' '),
    selected: { delayed: false, flags: true, items: false },
    messages: true,
    flags: true,
  },
  {
    command: `NOTIFY SET (SELECTED-DELAYED (MessageNew MessageExpunge))
      (mailboxes (Other Third) (MessageNew MessageExpunge)) (subtree INBOX (MessageNew MessageExpunge))`.replace(
      /\s+/g,
      ' ',
    ),
    selected: { delayed: true, flags: false, items: false },
    messages: true,
    flags: false,
  },
  { command: 'NOTIFY SET (personal (MessageNew MessageExpunge))', messages: true, flags: false },
]
