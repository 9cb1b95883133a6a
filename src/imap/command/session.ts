// Commands about the session itself: CAPABILITY, NOOP, CHECK, LOGOUT, ID, ENABLE, IDLE, COMPRESS (RFC 9051 6.1,
// RFC 2971, 5161, 2177, 4978).
//
// None of them touches the store. IDLE only says that changes may be told at any moment; telling them is the session's.

import { version } from '#lib/build-info.ts'
import { Fault } from '#lib/fault.ts'
import type { Enableable } from '../abilities.ts'
import { capabilitiesOf } from '../capabilities.ts'
import { anyState, command, inMailbox, loggedIn, nothing } from '../command.ts'
import { idle as idling } from '../idling.ts'
import { malformed } from '../wire/decoder.ts'

const capability = command({
  name: 'CAPABILITY',
  states: anyState,
  parse: nothing,
  run(session) {
    session.out.line(`* CAPABILITY ${capabilitiesOf(session)}`)
    return undefined
  },
})

const noop = command({ name: 'NOOP', states: anyState, parse: nothing, run: () => undefined })

/** Nothing waits to be written here (RFC 3501 6.4.1). */
const check = command({ name: 'CHECK', states: inMailbox, parse: nothing, run: () => undefined })

const logout = command({
  name: 'LOGOUT',
  states: anyState,
  expunges: 'never',
  parse: nothing,
  run(session) {
    session.unselect()
    session.out.line('* BYE Logging out')
    session.leave()
    return undefined
  },
})

/** Pairs a client may tell about itself, and octets of a field and of its value (RFC 2971 3.3). */
const idPairsMax = 30
const idFieldLengthMax = 30
const idValueLengthMax = 1024

const id = command({
  name: 'ID',
  states: anyState,
  capabilities: ['ID'],
  parse(decoder) {
    decoder.space()
    if (decoder.peek() !== '(') {
      if (decoder.word() !== 'NIL') throw malformed('Expected a list or NIL')
    } else {
      decoder.list(() => {
        const field = decoder.string()
        decoder.space()
        const value = decoder.nstring() ?? ''
        if (Buffer.byteLength(field) > idFieldLengthMax || Buffer.byteLength(value) > idValueLengthMax)
          throw malformed('A field of ID is too long')
      }, idPairsMax)
    }
    decoder.end()
  },
  run(session) {
    session.out.line(`* ID ("name" "Teal" "version" "${version}")`)
    return undefined
  },
})

const enableable: Readonly<Record<string, Enableable>> = {
  CONDSTORE: 'CONDSTORE',
  QRESYNC: 'QRESYNC',
  'UTF8=ACCEPT': 'UTF8=ACCEPT',
  IMAP4REV2: 'IMAP4REV2',
}

const enable = command({
  name: 'ENABLE',
  states: loggedIn,
  capabilities: ['ENABLE'],
  parse(decoder) {
    const names: string[] = []
    while (decoder.more()) names.push(decoder.word())
    if (names.length === 0) throw malformed('Nothing to enable')
    decoder.end()
    return names
  },
  run(session, names) {
    const fresh: string[] = []
    for (const name of names) {
      const known = enableable[name]
      // RFC 5161 3.1: what is unknown or on already is passed over.
      if (known !== undefined && session.enable(known)) fresh.push(known === 'IMAP4REV2' ? 'IMAP4rev2' : known)
    }
    session.out.line(`* ENABLED${fresh.map(name => ` ${name}`).join('')}`)
    return undefined
  },
})

const idle = command({
  name: 'IDLE',
  states: loggedIn,
  capabilities: ['IDLE'],
  parse: nothing,
  run: idling,
})

const compress = command({
  name: 'COMPRESS',
  states: loggedIn,
  parse(decoder) {
    decoder.space()
    if (decoder.word() !== 'DEFLATE') throw malformed('Unknown compression')
    decoder.end()
  },
  run(session) {
    // RFC 4978 3: once is enough.
    if (session.compression !== 'none') throw new Fault('CompressionActive')
    session.compression = 'next'
    return { text: 'DEFLATE active' }
  },
})

export const sessionCommands = [capability, noop, check, logout, id, enable, idle, compress]
