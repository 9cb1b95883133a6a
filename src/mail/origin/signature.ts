// What is found of the signatures of a message, by whichever of two ways: the plain one (plain-signed.ts), or the library's for all
// that may be (signed.ts). Both say it in the library's words, since its other checks go on from there.
//
// Types alone.

import type { ParsedFields } from '#lib/process/lazy.ts'
import type { Authors } from './authors.ts'

/** What was found of one signature. */
export interface Signature {
  readonly signingDomain?: string | undefined
  readonly selector?: string | undefined
  readonly status: {
    readonly result?: string | undefined
    readonly comment?: unknown
    readonly header?: object
    /** The author's domain, or that of his organization, where it is the signer's, too. */
    readonly aligned?: unknown
    /** Bytes at the end that are not signed. */
    readonly underSized?: number | undefined
  }
  readonly signingHeaders?: { readonly keys?: string | undefined } | undefined
  /** Beside a field that is signed stands another of its name, which anybody may have added (RFC 6376 8.15). */
  readonly added?: boolean
  /** For Authentication-Results. */
  readonly info?: string | undefined
}

export interface Signed {
  /** Addresses in From as the library reads them, and how many such fields there are. */
  readonly headerFrom: readonly string[]
  readonly fromFields: number
  /** What a check of seals begins with. */
  readonly arc: object
  readonly authors: Authors
  readonly results: readonly Signature[]
  /** Fields as the library finds them; none where there are none but usual ones. */
  readonly headers: ParsedFields
}
