// What another server is told about the reports a sender wants (RFC 3461 5.2): recipients whose sender wants the same go in
// one transaction, with their parameters, so that a server that knows them reports from then on and we do not.

import type { RecipientNotice } from '#mail/made/notice.ts'
import type { Outbound } from '#store/sending/outbound.ts'

/** As the SMTP client takes it. */
export interface WireNotice {
  readonly ret?: 'FULL' | 'HDRS'
  readonly envid?: string
  readonly notify?: string
  readonly orcpt?: string
}

/** Recipients by what is said about them; most messages are one group without anything. */
export function byNotice<Recipient extends { readonly target: { readonly value: string } }>(
  { options }: Pick<Outbound, 'options'>,
  recipients: readonly Recipient[],
): { readonly recipients: readonly Recipient[]; readonly dsn?: WireNotice }[] {
  const { notices = {}, returns, envelopeId } = options
  if (returns === undefined && envelopeId === undefined && Object.keys(notices).length === 0) return [{ recipients }]
  const groups = new Map<string, Recipient[]>()
  const wire = (notice: RecipientNotice = {}): WireNotice => ({
    ...(returns !== undefined && { ret: returns === 'full' ? 'FULL' : 'HDRS' }),
    ...(envelopeId !== undefined && { envid: envelopeId }),
    ...(notice.notify !== undefined && { notify: notice.notify.join(',').toUpperCase() }),
    ...(notice.original !== undefined && { orcpt: notice.original }),
  })
  for (const recipient of recipients) {
    const key = JSON.stringify(wire(notices[recipient.target.value]))
    groups.set(key, [...(groups.get(key) ?? []), recipient])
  }
  return [...groups].map(([key, same]) => ({ recipients: same, dsn: JSON.parse(key) as WireNotice }))
}
