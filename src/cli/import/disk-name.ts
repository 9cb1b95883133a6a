// Names of files as bytes: what other programs wrote need not be UTF-8, and a name that is decoded wrongly leads nowhere.
//
// A name that is no UTF-8 becomes a string in which each byte above ASCII stands as a lone surrogate (U+DC80 to U+DCFF);
// no text has those, so the bytes come back exactly. For people, and as the name of a folder, they are read as Latin-1.

import { isUtf8 } from 'node:buffer'

const escaped = /[\udc80-\udcff]/

/** The name these bytes are. */
export function nameOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8')
  return Array.from(bytes, byte => String.fromCharCode(byte < 0x80 ? byte : 0xdc00 + byte)).join('')
}

/** A path made of such names, as the file system takes it. */
export function onDisk(path: string): string | Buffer {
  if (!escaped.test(path)) return path
  const pieces = path.split(/([\udc80-\udcff])/)
  return Buffer.concat(
    pieces.map(piece => (escaped.test(piece) ? Buffer.from([piece.charCodeAt(0) & 0xff]) : Buffer.from(piece))),
  )
}

/** The same to be read by people. */
export function readable(path: string): string {
  return path.replace(/[\udc80-\udcff]/g, one => String.fromCharCode(one.charCodeAt(0) & 0xff))
}

/** The same as text that can be kept and compared. */
export function keyOf(name: string): string {
  return name.replace(/[\udc80-\udcff]/g, one => `=${(one.charCodeAt(0) & 0xff).toString(16)}`)
}
