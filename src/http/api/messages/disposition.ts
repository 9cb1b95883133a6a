// How a download is called (RFC 6266), whoever chose the name.
//
// Pure. One name whatever was given, in a field that a browser and a proxy take; what a sender wrote is repeated only where all that read
// such fields take the same name from it, and it is one that every disk takes and nobody's eyes are deceived by (as browsers see to it).

import { limits } from '#lib/limits.ts'
import { fitFileName } from '#mail/exchange/file-name.ts'
import { parseValued } from '#mail/mime/parameter.ts'

/** What every disk takes. */
const nameBytesMax = 255

/** A download under that name, which is one name whatever was given (RFC 6266 4.3). */
export function dispositionOf(given: string, value = 'attachment'): string {
  const filename = fitFileName(given || 'attachment', nameBytesMax)
  // Some take what looks percent-encoded for that (RFC 6266 appendix D).
  const plain = headerText(filename).replaceAll('%', '_')
  const encoded = encodeURIComponent(filename).replace(/['()*]/g, one => `%${one.charCodeAt(0).toString(16)}`)
  const named = `${value}; filename="${plain}"`
  return plain === filename ? named : `${named}; filename*=UTF-8''${encoded}`
}

/** The field of a part as its sender wrote it, or one of that meaning with the name that lists show. @param given on one line */
export function repeatedDisposition(given: string, filename: string): string {
  const { value, params, written } = parseValued(given)
  const names = written.filter(([name]) => /^filename(?:\*0?\*?)?$/i.test(name))
  const isPlain = given.length <= limits.http.repeatedLengthMax && grammatical.test(given)
  const [name, text = ''] = names[0] ?? []
  const decoded = params.filename ?? ''
  // A name in plain letters means itself.
  const isClear = name?.includes('*') || (text === decoded && !text.includes('%'))
  const isFit = decoded === '' || fitFileName(decoded, nameBytesMax) === decoded.normalize('NFC')
  if (isPlain && names.length <= 1 && isClear && isFit) return given
  return dispositionOf(filename, value === 'inline' ? value : 'attachment')
}

/** As RFC 6266 4.1 has it, in ASCII and without backslashes, which are read in more than one way. */
const grammatical =
  /^[\w!#$%&'*+.^`|~-]+(?: *; *[\w!#$%&'*+.^`|~-]+ *= *(?:[\w!#$%&'*+.^`|~-]+|"[\x20\x21\x23-\x5b\x5d-\x7e]*"))* *;? *$/

export function headerText(text_: string): string {
  return text_.replace(/[^\x20-\x7e]/g, '_')
}
