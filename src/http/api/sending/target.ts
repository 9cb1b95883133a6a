// Where mail may be sent on to: an address, a relay as smtp(s) URL, or an http(s) URL that takes messages.

import { isAddress } from '#mail/address/address.ts'
import { field, isUri } from '../../schema.ts'

const lengthMax = 1024
const schemes = new Set(['smtp:', 'smtps:', 'http:', 'https:'])

export const target = field<string>(
  { type: 'string', maxLength: lengthMax, description: 'Address, smtp(s) URL or http(s) URL' },
  (value, path, problems) => {
    if (typeof value !== 'string') return problems.add(path, 'must be a string')
    const text = value.trim()
    if (text.length <= lengthMax && (isAddress(text) || isTargetUrl(text))) return text
    return problems.add(path, 'must be an email address or an smtp, smtps, http or https URL')
  },
)

function isTargetUrl(text: string): boolean {
  if (!isUri(text)) return false
  const { protocol, hostname } = new URL(text)
  return schemes.has(protocol) && hostname !== ''
}
