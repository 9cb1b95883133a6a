// Replies of hosts as a careful client reads them (RFC 5321 4.2): the code of a reply is that of its last line, and what has no code is no
// line of one. The library goes by the first line and takes any line without a code for a reply of its own, which has every answer behind it
// count for the command after the one that it belongs to. So does a reply that nobody asked for: what is known of it ends the session, before
// it stands for the answer to a message.

/** Parts of the library that it keeps to itself. */
interface Reading {
  readonly lastServerResponse: unknown
  readonly _responseQueue: string[]
  /** What is done with replies that are waited for. */
  readonly _responseActions: readonly unknown[]
  /** A message that is not said to its end. */
  readonly _currentDataStream: unknown
  _sendCommand(line: string, ...more: unknown[]): void
  _createSendStream(...given: unknown[]): unknown
  _processResponse(): unknown
  _onError(error: Error, code: string, reply: undefined, command: string): void
}

/**
 * Has a connection read so. Lines without a code are left out; more than so many bytes of them break the session, as does one
 * in place of the greeting, and a reply before it can be one.
 *
 * @param outOfStep the message is answered, and more was said: the session is good for nothing else
 */
export function readReplies(connection: object, ignoredBytesMax: number, outOfStep: () => void): void {
  const reading = connection as Reading
  const stepOf = follow(reading)
  const next = reading._processResponse.bind(connection)
  /** Of a reply that a line without a code broke in two. */
  let begun: string[] = []
  let ignored = 0
  reading._processResponse = () => {
    for (let [reply] = reading._responseQueue; reply !== undefined; [reply] = reading._responseQueue) {
      const lines = reply.split('\n')
      const last = lines.at(-1) as string
      if (!isCoded(last) && !reading.lastServerResponse) break
      if (isCoded(last)) {
        // The rest of it is on its way.
        if (last[3] === '-') break
        reading._responseQueue[0] = withCodeOfLast([...begun, ...lines].filter(isCoded))
        begun = []
        break
      }
      reading._responseQueue.shift()
      begun.push(...lines.filter(isCoded))
      ignored += reply.length
      if (ignored > ignoredBytesMax) {
        return reading._onError(new Error('the host says what is no reply'), 'EUNREADABLE', undefined, 'CONN')
      }
    }
    const step = stepOf()
    if (step === 'early') {
      return reading._onError(new Error('the host answers what it was not asked'), 'EUNREADABLE', undefined, 'CONN')
    }
    if (step === 'over') outOfStep()
    return next()
  }
}

/**
 * What the next reply is to what was said: `early` where it answers nothing that was, `over` where it answers all of a message and more
 * came along. Of DATA only a 3 has the host take what follows for a message and not for commands.
 */
function follow(reading: Reading): () => 'early' | 'over' | 'right' {
  let data: unknown
  let message: unknown
  const say = reading._sendCommand.bind(reading)
  reading._sendCommand = (line, ...more) => {
    if (line === 'DATA') data = reading._responseActions.at(-1)
    say(line, ...more)
  }
  const begin = reading._createSendStream.bind(reading)
  reading._createSendStream = (...given) => {
    const stream = begin(...given)
    message = reading._responseActions.at(-1)
    return stream
  }
  return () => {
    const { _responseActions: asked, _responseQueue: replies, _currentDataStream: unsaid } = reading
    const [wanted] = asked
    // What comes while nothing is asked the library knows for itself.
    if (wanted === undefined) return 'right'
    const taken = replies[0]?.startsWith('2') === true
    if (taken && (wanted === data || (wanted === message && unsaid))) return 'early'
    // A host may say at any time that it closes (RFC 5321 3.8).
    const more = replies.filter(isWhole).slice(asked.length)
    if (more.every(reply => reply.startsWith(closing))) return 'right'
    return asked.at(-1) === message && !unsaid ? 'over' : 'early'
  }
}

const closing = '421'

function isWhole(reply: string): boolean {
  const last = reply.slice(reply.lastIndexOf('\n') + 1)
  return isCoded(last) && last[3] !== '-'
}

function isCoded(line: string): boolean {
  return /^\d{3}(?!\d)/.test(line)
}

function withCodeOfLast(lines: readonly string[]): string {
  const code = lines.at(-1)?.slice(0, 3)
  return lines.map(line => code + line.slice(3)).join('\n')
}
