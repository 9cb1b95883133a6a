// Requests whose end somebody in front may have seen elsewhere, as far as uWebSockets.js lets them through.
//
// Asked before anything else of a request is looked at; they are refused and their connection ends.

interface Head {
  /** The first of that name, '' for none. */
  getHeader(name: string): string
  forEach(each: (name: string, value: string) => void): void
}

/**
 * Whether somebody in front may have seen the request end elsewhere (RFC 9112 6.3, 11.2): the library takes the first of
 * two lengths, and every coding for the one that it knows. What has no body pays for the two questions alone.
 */
export function isDoubtful(req: Head): boolean {
  const coding = req.getHeader('transfer-encoding')
  if (coding === '' && req.getHeader('content-length') === '') return false
  if (coding !== '' && coding.toLowerCase() !== 'chunked') return true
  const seen = { host: 0, 'content-length': 0, 'transfer-encoding': 0 }
  req.forEach(name => {
    if (Object.hasOwn(seen, name)) seen[name as keyof typeof seen] += 1
  })
  return Object.values(seen).some(count => count > 1)
}
