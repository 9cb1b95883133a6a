// Requests whose end somebody in front may have seen elsewhere, as far as uWebSockets.js lets them through.
//
// Asked before anything else of a request is looked at. Where the head is doubtful they are refused and their connection
// ends; of a body in chunks only the library sees the end, so it is taken, and its answer ends the connection. Neither is
// answered before the library has gone through what came along: it would serve that as the next request.

interface Head {
  /** The first of that name, '' for none. */
  getHeader(name: string): string
  forEach(each: (name: string, value: string) => void): void
}

/**
 * Whether somebody in front may have seen the request end elsewhere (RFC 9112 6.3, 11.2): the library takes the first of
 * two lengths, and every coding for the one that it knows. Nor may there be two hosts (RFC 9112 3.2).
 */
export function isDoubtful(req: Head): boolean {
  const coding = req.getHeader('transfer-encoding')
  if (coding !== '' && coding.toLowerCase() !== 'chunked') return true
  let hosts = 0
  let lengths = 0
  let codings = 0
  req.forEach(name => {
    if (name === 'host') hosts += 1
    else if (name === 'content-length') lengths += 1
    else if (name === 'transfer-encoding') codings += 1
  })
  return hosts > 1 || lengths > 1 || codings > 1
}

/**
 * Whether the body comes in chunks. The library takes a bare LF, or any two bytes, where a line ends (RFC 9112 7.1), and what
 * follows the last chunk for the next request, though trailer fields may stand there (7.1.2): "X:GET / HTTP/1.1" is one to
 * whoever stands in front. So nothing is read after it.
 */
export function isInChunks(req: Head): boolean {
  return req.getHeader('transfer-encoding') !== ''
}

/** Status and fields of the answer to a doubtful request. */
export const refusedHead = '400 Bad Request\r\nServer: Teal'
