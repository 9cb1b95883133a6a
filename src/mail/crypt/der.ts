// A little DER (X.690): enough to write a CMS message and to find the issuer and the number in a certificate.
//
// Writing takes contents that are DER already. Reading takes certificates that node:crypto has accepted before, and still
// throws a RangeError rather than read past the end.

/** One element. */
export function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  const digits = Buffer.alloc(4)
  digits.writeUInt32BE(length)
  const used = digits.subarray(digits.findIndex(byte => byte !== 0))
  return Buffer.concat([Buffer.from([tag, 0x80 | used.length]), used, content])
}

export const tags = { integer: 0x02, octets: 0x04, null: 0x05, oid: 0x06, sequence: 0x30, set: 0x31 } as const

export function sequence(...contents: readonly Uint8Array[]): Buffer {
  return der(tags.sequence, ...contents)
}

/** A number below 128. */
export function integer(value: number): Buffer {
  return der(tags.integer, Buffer.from([value]))
}

export function octets(value: Uint8Array): Buffer {
  return der(tags.octets, value)
}

/** `1.2.840.113549.1.7.1`. */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  const bytes = [first * 40 + second]
  for (const number of rest) {
    const digits = [number & 0x7f]
    for (let left = Math.floor(number / 128); left > 0; left = Math.floor(left / 128))
      digits.unshift((left & 0x7f) | 0x80)
    bytes.push(...digits)
  }
  return der(tags.oid, Buffer.from(bytes))
}

export interface Element {
  readonly tag: number
  /** All of it, and what is inside. */
  readonly whole: Buffer
  readonly content: Buffer
}

/** The elements side by side in `bytes`. @throws RangeError */
export function elements(bytes: Buffer): Element[] {
  const found: Element[] = []
  for (let at = 0; at < bytes.length; ) {
    const first = bytes.readUInt8(at + 1)
    const more = first < 0x80 ? 0 : first & 0x7f
    const length = more === 0 ? first : bytes.readUIntBE(at + 2, more)
    const start = at + 2 + more
    if (start + length > bytes.length) throw new RangeError('an element ends behind its bytes')
    const whole = bytes.subarray(at, start + length)
    found.push({ tag: bytes.readUInt8(at), whole, content: bytes.subarray(start, start + length) })
    at = start + length
  }
  return found
}
