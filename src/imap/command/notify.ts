// NOTIFY (RFC 5465): what a client wants to hear of without asking, in the selected folder and in others.
//
// Here is its grammar and what is refused; telling is notices.ts's and, for the selected folder, the view's. `inboxes` are
// all folders of the account, since a filter may put mail into any of them (6.2).

import { limits } from '#lib/limits.ts'
import { command, type Done, loggedIn } from '../command.ts'
import { type EventGroup, type Registration, type SelectedEvents, silence } from '../selected/events.ts'
import { Notices } from '../selected/notices.ts'
import { type Decoder, malformed } from '../wire/decoder.ts'
import { type FetchItem, fetchItem } from '../wire/item.ts'

interface NotifyInput {
  readonly status: boolean
  readonly registration: Registration
  /** Some event is not one of ours. */
  readonly unsupported: boolean
}

const supported = ['MessageNew', 'MessageExpunge', 'FlagChange', 'MailboxName', 'SubscriptionChange']
const byWord = new Map(supported.map(name => [name.toUpperCase(), name]))

const notify = command({
  name: 'NOTIFY',
  states: loggedIn,
  capabilities: ['NOTIFY'],
  parse: parseNotify,
  async run(session, { status, registration, unsupported }): Promise<Done | undefined> {
    if (unsupported) return { no: true, code: `BADEVENT (${supported.join(' ')})`, text: 'Unsupported event' }
    if (registration.groups.length > limits.imap.notifyGroupsMax) {
      return { no: true, code: 'NOTIFICATIONOVERFLOW', text: 'Too many groups of events' }
    }
    // RFC 5465 3.1: what has gathered is told whatever is wanted from now on.
    await session.view?.tell(session.untagged, true)
    const folders = await session.mail.folders()
    const notices = new Notices(session, registration, folders)
    session.notices = notices
    if (status) await notices.status(folders)
    return undefined
  },
})

export const notifyCommands = [notify]

function parseNotify(decoder: Decoder): NotifyInput {
  decoder.space()
  const form = decoder.word()
  if (form === 'NONE') {
    decoder.end()
    return { status: false, registration: silence, unsupported: false }
  }
  if (form !== 'SET') throw malformed('Expected SET or NONE')
  const status = decoder.accept(' STATUS')
  let selected: SelectedEvents | undefined
  let chosen = false
  let unsupported = false
  const groups: EventGroup[] = []
  decoder.space()
  do {
    decoder.expect('(')
    const word = decoder.word()
    const own = word === 'SELECTED' || word === 'SELECTED-DELAYED'
    const filter = own ? undefined : parseFilter(decoder, word)
    decoder.space()
    const events = parseEvents(decoder)
    decoder.expect(')')
    unsupported ||= events.unsupported
    if (filter === undefined) {
      if (chosen) throw malformed('The selected mailbox is named twice')
      if (events.names || events.subscriptions) throw malformed('This is no event of the selected mailbox')
      chosen = true
      const delayed = word === 'SELECTED-DELAYED'
      if (events.messages) selected = { delayed, flags: events.flags, items: events.items ?? [] }
    } else {
      if (events.items !== undefined) throw malformed('Only new messages of the selected mailbox can be fetched')
      const { none, messages, flags, names, subscriptions } = events
      groups.push({ ...filter, none, messages, flags, names, subscriptions })
    }
  } while (decoder.more())
  decoder.end()
  return { status, registration: { selected, groups }, unsupported }
}

function parseFilter(decoder: Decoder, word: string): Pick<EventGroup, 'which' | 'paths'> {
  if (word === 'INBOXES' || word === 'PERSONAL') return { which: 'all', paths: new Set() }
  if (word === 'SUBSCRIBED') return { which: 'subscribed', paths: new Set() }
  if (word !== 'SUBTREE' && word !== 'MAILBOXES') throw malformed('Unknown mailbox specifier')
  decoder.space()
  const paths = decoder.peek() === '(' ? decoder.list(() => decoder.mailbox()) : [decoder.mailbox()]
  if (paths.length === 0) throw malformed('The list of mailboxes is empty')
  const which = word === 'SUBTREE' ? 'subtree' : 'mailboxes'
  return { which, paths: new Set(paths.map(path => path.replace(/\/$/, ''))) }
}

interface Events {
  readonly none: boolean
  readonly messages: boolean
  readonly flags: boolean
  readonly names: boolean
  readonly subscriptions: boolean
  readonly unsupported: boolean
  /** Of new messages; undefined where nothing is asked for. */
  readonly items: readonly FetchItem[] | undefined
}

function parseEvents(decoder: Decoder): Events {
  const found = new Set<string>()
  let items: FetchItem[] | undefined
  let annotations = false
  const none = decoder.peek() !== '('
  if (none) {
    if (decoder.word() !== 'NONE') throw malformed('Expected a list of events or NONE')
  } else {
    decoder.list(() => {
      const word = decoder.word()
      found.add(byWord.get(word) ?? '')
      annotations ||= word === 'ANNOTATIONCHANGE'
      if (word === 'MESSAGENEW' && decoder.accept(' (')) items = parseItems(decoder)
    })
    if (found.size === 0) throw malformed('The list of events is empty')
  }
  const messages = found.has('MessageNew')
  // RFC 5465 5.
  if (messages !== found.has('MessageExpunge')) throw malformed('MessageNew and MessageExpunge belong together')
  const flags = found.has('FlagChange')
  if ((flags || annotations) && !messages) throw malformed('FlagChange needs MessageNew and MessageExpunge')
  const [names, subscriptions] = [found.has('MailboxName'), found.has('SubscriptionChange')]
  return { none, messages, flags, names, subscriptions, unsupported: found.has(''), items }
}

/** fetch-att, up to the parenthesis that closes them. That a message came does not make it seen. */
function parseItems(decoder: Decoder): FetchItem[] {
  const items: FetchItem[] = []
  do items.push(...decoder.nested(() => fetchItem(decoder, false)))
  while (decoder.more() && items.length < limits.imap.listLengthMax)
  decoder.expect(')')
  return items.map(item => ('peek' in item ? { ...item, peek: true } : item))
}
