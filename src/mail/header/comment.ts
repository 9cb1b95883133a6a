// Comments in structured fields (RFC 5322 3.2.2): text in brackets, within which there may be others.
//
// Promises: linear. A bracket that never closes opens no comment; what quotes mean is for whoever reads the field.

/** Offset of the bracket that closes the comment at `start`, or -1. */
export function commentEnd(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x5c) at++
    else if (code === 0x28) depth++
    else if (code === 0x29 && --depth === 0) return at
  }
  return -1
}

/** A value in which quotes mean nothing, a space in the place of each comment. */
export function withoutComments(text: string): string {
  let out = ''
  let from = 0
  for (let at = text.indexOf('('); at >= 0; at = text.indexOf('(', from)) {
    const end = commentEnd(text, at)
    if (end < 0) break
    out += `${text.slice(from, at)} `
    from = end + 1
  }
  return from === 0 ? text : out + text.slice(from)
}
