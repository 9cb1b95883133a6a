// Replies of hosts as a careful client reads them (RFC 5321 4.2): the code of a reply is that of its last line, and what has no code is no
// line of one. The library goes by the first line and takes any line without a code for a reply of its own, which has every answer behind it
// count for the command after the one that it belongs to.

/** Parts of the library that it keeps to itself. */
interface Reading {
  readonly lastServerResponse: unknown
  readonly _responseQueue: string[]
  _processResponse(): unknown
  _onError(error: Error, code: string, reply: undefined, command: string): void
}

/**
 * Has a connection read so. Lines without a code are left out; more than so many bytes of them break the session, as does one
 * in place of the greeting.
 */
export function readReplies(connection: object, ignoredBytesMax: number): void {
  const reading = connection as Reading
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
    return next()
  }
}

function isCoded(line: string): boolean {
  return /^\d{3}(?!\d)/.test(line)
}

function withCodeOfLast(lines: readonly string[]): string {
  const code = lines.at(-1)?.slice(0, 3)
  return lines.map(line => code + line.slice(3)).join('\n')
}
