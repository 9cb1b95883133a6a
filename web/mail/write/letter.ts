// A letter that is being written, as this browser keeps it: its fields, the draft that the service has of it, what it answers.
//
// Every change is kept in the browser at once, under the account, until the service has it and nobody writes any more; so neither a broken
// connection nor a closed window loses a word, nor a file that is on its way (kept-files.ts). A letter is open in one window at a time (a lock of the browser says in which).

import { type Signal, signal } from '@preact/signals'
import { local } from '../../base/browser.ts'
import { user } from '../store.ts'
import { forgetFiles, lettersWithFiles } from './kept-files.ts'

export interface LetterFile {
  readonly id: string
  readonly name: string
  readonly size: number
  /** What it was called on its way. */
  readonly cameAs?: string
}

export interface Fields {
  readonly from: string
  readonly to: string
  readonly cc: string
  readonly bcc: string
  readonly subject: string
  /** What is written where it is written plainly. */
  readonly text: string
  /** What is written with form, as safe.ts has it; null where it is written plainly. */
  readonly html: string | null
  readonly files: readonly LetterFile[]
  /** Attachments of the message that is sent on, by their ids there. */
  readonly carried: readonly LetterFile[]
}

export interface Reference {
  readonly mailbox: string
  readonly id: number
  readonly action: 'reply' | 'replyAll' | 'forward'
  readonly attachments?: boolean
}

interface DraftPlace {
  readonly mailbox: string
  readonly id: number
}

/** A file on its way, as far as it is: 0 to 1. */
export interface Upload {
  readonly id: string
  readonly file: File
  readonly part: number
  /** Whether it is kept here until it is there; undefined while that is not known. */
  readonly isKept: boolean | undefined
  /** Ends it. */
  readonly control: AbortController
}

/** What is known of how a letter is kept. */
type Kept = 'same' | 'changed' | 'saving' | 'here'

export interface Letter {
  readonly key: string
  readonly fields: Signal<Fields>
  readonly kept: Signal<Kept>
  /** Why the service did not take it, where it answers and does not; else ''. */
  readonly refused: Signal<string>
  readonly uploads: Signal<readonly Upload[]>
  draft: DraftPlace | null
  reference: Reference | undefined
  /** It is to go as soon as the service answers, and not before this moment (0: with the usual time to think again). */
  pending: number | null
  /** Whether this browser had room for it when it was last changed. */
  isHere: boolean
  release(): void
  /** Puts into the fields what an editor has not told yet. */
  flush(): void
}

interface Stored {
  readonly fields: Fields
  readonly draft: DraftPlace | null
  readonly reference?: Reference
  readonly pending: number | null
  /** The service has it as it is. */
  readonly isSaved?: boolean
}

/** Characters of a subject that the service takes. */
export const subjectMax = 2000

export const empty: Fields = {
  from: '',
  to: '',
  cc: '',
  bcc: '',
  subject: '',
  text: '',
  html: null,
  files: [],
  carried: [],
}

export function makeLetter(given: Partial<Stored>, key: string = crypto.randomUUID()): Letter {
  const fields = { ...empty, ...given.fields }
  const letter: Letter = {
    key,
    // What is answered may have a longer one.
    fields: signal({ ...fields, subject: fields.subject.slice(0, subjectMax) }),
    kept: signal<Kept>('same'),
    refused: signal(''),
    uploads: signal<Letter['uploads']['value']>([]),
    draft: given.draft ?? null,
    reference: given.reference,
    pending: given.pending ?? null,
    isHere: true,
    release: () => {},
    flush: () => {},
  }
  // Held for as long as it is open here.
  void navigator.locks?.request(
    lockName(key),
    () =>
      new Promise<void>(resolve => {
        letter.release = resolve
      }),
  )
  return letter
}

function lockName(key: string): string {
  return `teal.letter.${key}`
}

const places = 'teal.letters.'

function place(): string {
  return places + user()
}

function readAll(): Record<string, Stored> {
  try {
    return JSON.parse(local.get(place()) ?? '{}') as Record<string, Stored>
  } catch {
    return {}
  }
}

/** Keeps it in this browser, where there is room. */
export function keepHere(letter: Letter): void {
  const { draft, reference, pending } = letter
  const isSaved = letter.kept.value === 'same' && pending === null && letter.uploads.value.length === 0
  const all = { ...readAll(), [letter.key]: { fields: letter.fields.value, draft, reference, pending, isSaved } }
  letter.isHere = local.set(place(), JSON.stringify(all))
}

/** Whether something of it is lost when the page is left now. */
export function isLostWithPage({ isHere, kept, uploads }: Letter): boolean {
  return (!isHere && kept.value !== 'same') || uploads.value.some(one => one.isKept !== true)
}

export function forgetHere({ key }: Letter): void {
  void forgetFiles(key)
  const { [key]: _, ...rest } = readAll()
  local.set(place(), JSON.stringify(rest))
}

/** How many letters this browser alone has. */
export function countHere(): number {
  return Object.values(readAll()).filter(one => one.isSaved !== true).length
}

export async function forgetAllHere(): Promise<void> {
  local.remove(place())
  await forgetFiles()
}

/** Letters that were left in this browser and are open in no window. */
export async function leftHere(): Promise<Letter[]> {
  const found: Letter[] = []
  for (const [key, stored] of Object.entries(readAll())) {
    if (!(await isOpen(key))) found.push(makeLetter(stored, key))
  }
  for (const key of await lettersWithFiles()) {
    if (!Object.hasOwn(readAll(), key) && !(await isOpen(key))) await forgetFiles(key)
  }
  return found
}

const watched = new Set<string>()

/** Calls back whenever a window that was to send a letter is gone, and the letter is still there. */
export function watchOthers(left: () => void): void {
  const look = () => {
    for (const [key, { pending }] of Object.entries(readAll())) {
      if (pending === null || watched.has(key)) continue
      watched.add(key)
      void navigator.locks
        ?.request(lockName(key), () => {})
        .then(() => {
          watched.delete(key)
          if (Object.hasOwn(readAll(), key)) left()
        })
    }
  }
  addEventListener('storage', ({ key }) => {
    // Another window may have signed out, and nobody has a place here any more.
    if (key?.startsWith(places) === true) look()
  })
  look()
}

/** Whether a letter is open in some window. */
async function isOpen(key: string): Promise<boolean> {
  return (await navigator.locks?.request(lockName(key), { ifAvailable: true }, async lock => lock === null)) === true
}
