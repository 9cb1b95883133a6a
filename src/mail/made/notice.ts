// What a sender wants to hear about a message (RFC 3461): NOTIFY, ORCPT, RET and ENVID, from parameters to data.
//
// Pure. Values that the grammar does not allow are undefined here, for the caller to refuse. What comes out is printable, so
// that it may stand in a report.

export type Notify = 'never' | 'success' | 'failure' | 'delay'

/** About one recipient. */
export interface RecipientNotice {
  /** Failures and delays where absent. */
  readonly notify?: readonly Notify[]
  /** The recipient its sender named, as `type;address`. */
  readonly original?: string
}

/** About the message. */
export interface MessageNotice {
  /** It goes only to proven hosts that keep it so, and so does whatever is made of it (RFC 8689). */
  readonly requireTls?: true
  /** What of it comes back with a failure; as the service thinks fit where absent. */
  readonly returns?: 'full' | 'headers'
  /** What its sender calls it. */
  readonly envelopeId?: string
}

/** Longest ENVID and ORCPT as they are written (RFC 3461 4.2, 4.4). */
const envelopeIdLengthMax = 100
const originalLengthMax = 500

/** `NEVER`, or some of SUCCESS, FAILURE and DELAY, each once (RFC 3461 4.1). */
export function readNotify(value: string): readonly Notify[] | undefined {
  const words = value.toLowerCase().split(',')
  const known = words.every(word => ['never', 'success', 'failure', 'delay'].includes(word))
  if (!known || new Set(words).size < words.length) return undefined
  return words.includes('never') && words.length > 1 ? undefined : (words as Notify[])
}

/** RFC 3461 4.3. */
export function readReturns(value: string): 'full' | 'headers' | undefined {
  const word = value.toUpperCase()
  return word === 'FULL' ? 'full' : word === 'HDRS' ? 'headers' : undefined
}

/** RFC 3461 4.4. */
export function readEnvelopeId(value: string): string | undefined {
  return value.length > envelopeIdLengthMax ? undefined : readXtext(value)
}

/** `type;address` (RFC 3461 4.2); of an address in UTF-8 the form in ASCII (RFC 6533 3), which every host and every report takes. */
export function readOriginal(value: string): string | undefined {
  const [, type, text = ''] = /^([A-Za-z0-9-]{1,40});(.+)$/.exec(value) ?? []
  if (type === undefined || value.length > originalLengthMax) return undefined
  const utf8 = type.toLowerCase() === 'utf-8' && !/[\s\p{Cc}]/u.test(text)
  const address = utf8 ? byNumbers(text, /[^\x21-\x7e]|[+=]/gu) : readXtext(text)
  return address === undefined ? undefined : `${type};${address}`
}

/** RFC 6533 3: signs of an address by their numbers, as `\x{FC}`. */
export function byNumbers(address: string, signs: RegExp): string {
  return address.replace(signs, sign => `\\x{${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`)
}

/** RFC 3461 4: printable ASCII, others as + and two digits. */
function readXtext(value: string): string | undefined {
  if (!/^(?:[!-*,-<>-~]|\+[0-9A-F]{2})+$/.test(value)) return undefined
  const text = value.replace(/\+([0-9A-F]{2})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  return /^[\x20-\x7e]+$/.test(text) ? text : undefined
}
