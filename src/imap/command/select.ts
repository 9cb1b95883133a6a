// SELECT and EXAMINE (RFC 9051 6.3.2, RFC 7162 3.2.5).
//
// Costs the same whatever the folder holds: the list of its messages is worked out when somebody needs it. With QRESYNC
// the client is told in one round what it missed.

import { limits } from '#lib/limits.ts'
import { flagText, systemFlags } from '#mail/flags.ts'
import { formatRanges, inRanges } from '#mail/numbers.ts'
import { type CommandRow, command, loggedIn } from '../command.ts'
import type { FlagRow, Mailbox } from '../mail-store.ts'
import { slicesOf } from '../selected/slices.ts'
import { type Claim, View } from '../selected/view.ts'
import type { Session } from '../session.ts'
import { type Decoder, malformed, type NumberSet } from '../wire/decoder.ts'
import { permanentFlags } from '../wire/permanent-flags.ts'
import { listResponse } from './list.ts'

interface Resync {
  readonly uidValidity: number
  readonly modseq: number
  readonly known: NumberSet | undefined
  /** Sequence numbers and the uids they had, from which a server without memory could guess; not needed here. */
  readonly match: unknown
}

interface SelectInput {
  readonly path: string
  /** As it was written, where that is not its normal form. */
  readonly denormal: string | undefined
  readonly condstore: boolean
  readonly resync: Resync | undefined
}

/** Looking for the first unseen message stops being worth it (RFC 9051 dropped the code). */
const unseenSearchMax = 10_000

const select = selecting('SELECT', false)
const examine = selecting('EXAMINE', true)

export const selectCommands = [select, examine]

function selecting(name: string, readOnly: boolean): CommandRow {
  return command({
    name,
    states: loggedIn,
    parse: parseSelect,
    async run(session, input) {
      // RFC 7162 3.2.5: such a command makes no sense, so that nothing changes.
      if (input.resync !== undefined && !session.qresync) throw malformed('QRESYNC is not enabled')
      // RFC 9051 6.3.2: a selected mailbox is left even when the new one cannot be selected.
      if (session.view !== undefined) {
        session.unselect()
        session.out.line('* OK [CLOSED] The mailbox is closed')
      }
      const mailbox = await session.mailbox(input.path)
      if (input.condstore || input.resync !== undefined) session.enable('CONDSTORE')
      const rows = session.mail.messages(mailbox.num)
      const view = await View.open(rows, mailbox, readOnly, claimOf(session, mailbox, readOnly))
      const { out } = session
      out.line(`* FLAGS (${flagText(systemFlags, mailbox.keywords)})`)
      out.line(`* ${mailbox.total} EXISTS`)
      if (!session.rev2) out.line(`* ${view.recentCount} RECENT`)
      if (!session.rev2 && mailbox.unseen > 0 && mailbox.total <= unseenSearchMax) {
        const uid = await rows.firstUnseen()
        if (uid !== undefined) await view.load()
        const seq = uid === undefined ? 0 : view.seqOf(uid)
        if (seq > 0) out.line(`* OK [UNSEEN ${seq}] First unseen`)
      }
      const permanent = readOnly ? '' : permanentFlags(mailbox.keywords)
      out.line(`* OK [PERMANENTFLAGS (${permanent})] Flags that stay`)
      out.line(`* OK [UIDVALIDITY ${mailbox.uidValidity}] UIDs valid`)
      out.line(`* OK [UIDNEXT ${mailbox.uidNext}] Predicted next UID`)
      out.line(`* OK [HIGHESTMODSEQ ${Math.max(1, mailbox.modseq)}] Highest`)
      out.line(`* OK [MAILBOXID (${mailbox.id})] Id`)
      if (session.rev2) out.line(await listResponse(session, mailbox, input.denormal))
      if (input.resync?.uidValidity === mailbox.uidValidity) await resync(session, view, input.resync)
      session.select(view, mailbox)
      session.mail.expect(mailbox.total)
      return { code: readOnly ? 'READ-ONLY' : 'READ-WRITE' }
    },
  })
}

/** RFC 3501 6.3.2: messages stay recent where a folder is only looked at. */
function claimOf(session: Session, { num }: Mailbox, readOnly: boolean): Claim | undefined {
  const { mail } = session
  if (session.rev2) return undefined
  return readOnly ? () => mail.recentFrom(num) : uidNext => mail.claimRecent(num, uidNext)
}

function parseSelect(decoder: Decoder): SelectInput {
  decoder.space()
  const { path, denormal } = decoder.mailboxAsWritten()
  let condstore = false
  let resync: Resync | undefined
  if (decoder.more()) {
    decoder.list(() => {
      const parameter = decoder.word()
      if (parameter === 'CONDSTORE') condstore = true
      else if (parameter === 'QRESYNC') resync = parseResync(decoder)
      else throw malformed('Unknown parameter of SELECT')
    })
  }
  decoder.end()
  return { path, denormal, condstore, resync }
}

function parseResync(decoder: Decoder): Resync {
  decoder.space()
  decoder.expect('(')
  const uidValidity = decoder.number()
  decoder.space()
  const modseq = decoder.number64()
  let known: NumberSet | undefined
  let match: unknown
  if (decoder.more()) {
    if (decoder.peek() !== '(') {
      known = decoder.numberSet()
      if (decoder.more()) match = parseMatch(decoder)
    } else match = parseMatch(decoder)
  }
  decoder.expect(')')
  return { uidValidity, modseq, known, match }
}

function parseMatch(decoder: Decoder): unknown {
  decoder.expect('(')
  const seqs = decoder.numberSet()
  decoder.space()
  const uids = decoder.numberSet()
  decoder.expect(')')
  return { seqs, uids }
}

/** What went and what changed since the client was here. */
async function resync(session: Session, view: View, { modseq, known }: Resync): Promise<void> {
  const gone = await view.goneSince(modseq, known)
  if (gone.length > 0) session.out.line(`* VANISHED (EARLIER) ${formatRanges(gone)}`)
  const all: NumberSet = [[1, Infinity]]
  const places = (await view.resolve(known ?? all, true)) ?? []
  const tell = ([uid, change, flags, keywords]: FlagRow) => {
    const seq = view.seqOf(uid)
    if (seq === 0 || !inRanges(places, seq - 1)) return
    const text = session.flagsText(flags, keywords, uid, view)
    session.out.line(`* ${seq} FETCH (UID ${uid} FLAGS (${text}) MODSEQ (${change}))`)
  }
  // Who was away for a day missed some changes: they are asked for by their numbers. Many are looked for in the folder.
  const some = await view.rows.changesAfter(modseq, Infinity, Number.MAX_SAFE_INTEGER, limits.imap.sliceRows)
  if (some.length < limits.imap.sliceRows) {
    for (const row of some.sort(([one], [other]) => one - other)) tell(row)
    return
  }
  const listed = { facts: false, envelope: false, bodystructure: false, summary: false, detail: false }
  for (const slice of slicesOf(view, places, limits.imap.sliceRows)) {
    for (const [uid, change, flags, keywords] of await view.rows.rows(listed, slice, modseq))
      tell([uid, change, flags, keywords])
    await session.out.room()
    if (session.pace.spent) await session.rest()
  }
}
