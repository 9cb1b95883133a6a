// Values of DNS on a page: to be copied, what is there instead, and how a record does.
//
// They are written from the left in every language, and shown in part where they are long.

import type { Reply } from '../../base/client.ts'
import { Badge, IconButton } from '../../base/parts.tsx'
import { baseTexts } from '../../texts/texts.ts'
import { act } from '../kit/act.tsx'
import { adminTexts } from '../texts/texts.ts'

export type Dns = Reply<'GET /domains/:domain/dns'>
type DnsState = keyof ReturnType<typeof statesOf>

const statesOf = () => adminTexts.value.domains.states

const kinds = { ok: 'good', missing: 'bad', wrong: 'bad', unknown: 'plain' } as const

export function DnsBadge({ state, isOptional = false }: { readonly state: string; readonly isOptional?: boolean }) {
  const known: DnsState = state in kinds ? (state as DnsState) : 'unknown'
  const kind = kinds[known]
  return <Badge kind={kind === 'bad' && isOptional ? 'warn' : kind}>{statesOf()[known]}</Badge>
}

/** What is there instead. */
export function FoundNow({ found }: { readonly found: readonly string[] }) {
  return (
    <span class="muted">
      {adminTexts.value.domains.found}{' '}
      <bdi class="code value wrong" dir="ltr">
        {found.join('\n')}
      </bdi>
    </span>
  )
}

const labelLength = 40

/** A value of DNS, to be copied. */
export function Value({ text }: { readonly text: string }) {
  const { copy, copied } = baseTexts.value
  return (
    <span class="copied">
      <bdi class="code value" dir="ltr">
        {text}
      </bdi>
      <IconButton
        icon="copy"
        label={`${copy}: ${text.slice(0, labelLength)}`}
        onClick={() => void act(() => navigator.clipboard.writeText(text), copied)}
      />
    </span>
  )
}
