// Flags that a client may put for good, as the response code PERMANENTFLAGS has them (RFC 9051 7.1).

import { limits } from '#lib/limits.ts'
import { flagText, systemFlags } from '#mail/flags.ts'

/** Without brackets; `\*` is among them while the folder takes further keywords. */
export function permanentFlags(keywords: readonly string[]): string {
  const all = flagText(systemFlags, keywords)
  return keywords.length < limits.imap.keywordsMax ? `${all} \\*` : all
}
