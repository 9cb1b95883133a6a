// Questions to name servers of which it is known whether they proved the answer (DNSSEC, the AD bit of a resolver).
//
// What a resolver says it proved is believed only where nobody stands between: on loopback, or where the operator named the
// servers for that. Each question has an identifier and a port of its own, a time and a few tries; a long answer is asked
// for over TCP, and who does not understand a question of today, or lets it go by, is asked as it was done before
// (RFC 6891 7). "There is none" is an answer, a failure is not: it is thrown, so that nobody takes one for the other.

import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns'
import { connect, isIPv6 } from 'node:net'
import { after, elapsed } from '#lib/clock.ts'
import { randomBuffer } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import {
  type DnsMessage,
  type DnsRecord,
  decodeMessage,
  encodeQuestion,
  formatError,
  type RecordType,
  recordTypes,
} from './dns-message.ts'

interface Answer {
  /** Those of the type that was asked for, of the name at the end of all aliases. */
  readonly records: readonly DnsRecord[]
  /** Whether it was proven, and may be believed: that there is none, too. */
  readonly secure: boolean
  /** What the name stands for in the end: itself, unless it is an alias. */
  readonly canonical: string
  readonly exists: boolean
  /** How long it may be remembered. */
  readonly ttlMs: number
}

/** Who can be asked. */
export type Ask = (name: string, type: RecordType) => Promise<Answer>

/** Nobody could say. `bogus` is also what a resolver says that was lied to: the answer must not be guessed. */
class NamesFailed extends Error {
  readonly code: 'ESERVFAIL' | 'ETIMEOUT' | 'EBADNAME'
  constructor(code: NamesFailed['code'], name: string) {
    super(`${name} could not be looked up: ${code}`)
    this.code = code
  }
}

interface Server {
  readonly host: string
  readonly port: number
}

const noSuchName = 3
const notOffered = 4

export class Names {
  readonly #named: readonly string[]
  #known: { readonly servers: readonly Server[]; readonly trusted: boolean; readonly until: number } | undefined

  /** @param servers addresses, with or without a port; those of the system, which may change, where there is none */
  constructor(servers: readonly string[] = []) {
    this.#named = servers
  }

  /** Who is asked, and whether what they call proven may be believed. */
  #asked() {
    const at = elapsed()
    if (this.#known !== undefined && this.#known.until > at) return this.#known
    const named = this.#named.length > 0
    const found = (named ? this.#named : new Resolver().getServers()).map(serverOf)
    const servers = found.length > 0 ? found : [{ host: '127.0.0.1', port: dnsPort }]
    const trusted = named || servers.every(({ host }) => host === '::1' || host.startsWith('127.'))
    this.#known = { servers, trusted, until: at + limits.dns.rememberMs }
    return this.#known
  }

  /** @throws NamesFailed */
  readonly ask: Ask = async (name, type) => {
    const asked = name.replace(/\.$/, '').toLowerCase()
    const { servers, trusted } = this.#asked()
    let failure: NamesFailed = new NamesFailed('ETIMEOUT', asked)
    for (let round = 0; round < limits.dns.tries; round++) {
      for (const server of servers.slice(0, limits.dns.serversMax)) {
        const found = await this.#exchange(server, asked, type, round === 0)
        if (found === undefined) continue
        if (found.code === 0 || found.code === noSuchName) return answerOf(found, asked, type, trusted)
        failure = new NamesFailed('ESERVFAIL', asked)
      }
      if (failure.code === 'ESERVFAIL') break
    }
    throw failure
  }

  /** Undefined where this server did not answer. */
  async #exchange(server: Server, name: string, type: RecordType, extended: boolean): Promise<DnsMessage | undefined> {
    const id = randomBuffer(2).readUInt16BE(0)
    const question = encodeQuestion(id, name, type, extended)
    if (question === undefined) throw new NamesFailed('EBADNAME', name)
    const fits = (bytes: Buffer): DnsMessage | undefined => {
      const found = decodeMessage(bytes)
      if (found?.answer !== true || found.id !== id) return undefined
      const same = found.name === name && found.type === recordTypes[type]
      return same || (found.code === formatError && found.name === '') ? found : undefined
    }
    const short = await overDatagram(server, question, fits)
    const found = short?.truncated === true ? await overStream(server, question, fits) : short
    const refuses = found?.code === formatError || found?.code === notOffered
    return extended && refuses ? this.#exchange(server, name, type, false) : found
  }
}

function answerOf({ code, records, authentic }: DnsMessage, name: string, type: RecordType, trusted: boolean): Answer {
  let canonical = name
  let ttlMs: number = limits.dns.rememberMs
  const aliases = new Map(records.filter(one => one.type === recordTypes.CNAME).map(one => [one.name, one]))
  for (let hop = type === 'CNAME' ? limits.dns.aliasesMax : 0; hop < limits.dns.aliasesMax; hop++) {
    const alias = aliases.get(canonical)
    if (alias === undefined) break
    canonical = alias.target
    ttlMs = Math.min(ttlMs, alias.ttlMs)
  }
  const found = records.filter(one => one.type === recordTypes[type] && one.name === canonical)
  for (const one of found) ttlMs = Math.min(ttlMs, one.ttlMs)
  return { records: found, secure: authentic && trusted, canonical, exists: code === 0, ttlMs }
}

type Fits = (bytes: Buffer) => DnsMessage | undefined

/** The first fitting answer; what does not fit is as if it had not come. */
function overDatagram({ host, port }: Server, question: Buffer, fits: Fits): Promise<DnsMessage | undefined> {
  return new Promise(resolve => {
    const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
    const end = (found: DnsMessage | undefined) => {
      timer.cancel()
      socket.removeAllListeners('message')
      socket.close()
      resolve(found)
    }
    const timer = after(limits.dns.questionMs, () => end(undefined))
    socket.on('error', () => end(undefined))
    socket.on('message', bytes => {
      const found = fits(bytes)
      if (found !== undefined) end(found)
    })
    // Connected: only this server's answers come in, and that nobody listens is heard at once.
    socket.connect(port, host, () => socket.send(question))
  })
}

/** RFC 7766: each message behind its length. */
function overStream({ host, port }: Server, question: Buffer, fits: Fits): Promise<DnsMessage | undefined> {
  return new Promise(resolve => {
    const socket = connect({ host, port })
    const chunks: Buffer[] = []
    let size = 0
    const end = (found: DnsMessage | undefined) => {
      timer.cancel()
      socket.destroy()
      resolve(found)
    }
    const timer = after(limits.dns.questionMs, () => end(undefined))
    socket.on('error', () => end(undefined))
    socket.on('close', () => end(undefined))
    socket.on('data', chunk => {
      chunks.push(chunk)
      size += chunk.length
      if (size < 2) return
      const all = Buffer.concat(chunks)
      const length = all.readUInt16BE(0)
      if (size >= length + 2) end(fits(all.subarray(2, length + 2)))
    })
    socket.on('connect', () => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(question.length, 0)
      socket.write(Buffer.concat([length, question]))
    })
  })
}

function serverOf(text: string): Server {
  const [, six, sixPort] = /^\[([^\]]+)\](?::(\d+))?$/.exec(text) ?? []
  if (six !== undefined) return { host: six, port: Number(sixPort ?? dnsPort) }
  const [, four, fourPort] = /^([\d.]+):(\d+)$/.exec(text) ?? []
  return four === undefined ? { host: text, port: dnsPort } : { host: four, port: Number(fourPort) }
}

const dnsPort = 53
