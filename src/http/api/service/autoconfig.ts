// What mail programs ask for when an account is set up, without a token: where the servers are.
//
// Answers are the same for every address, known or not, so they tell nothing about who is here.

import type { Config } from '#config'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { isAddress, splitAddress } from '#mail/address/address.ts'
import {
  autodiscoverAddress,
  autodiscoverXml,
  type Setup,
  type SetupServer,
  thunderbirdXml,
} from '#mail/made/autoconfig.ts'
import { type StsMode, stsPolicyText } from '#mail/made/sts-policy.ts'
import { binary } from '../../answer.ts'
import { endpoint } from '../../endpoint.ts'
import { optional, text } from '../../schema.ts'

export interface AutoconfigDeps {
  readonly hostname: string
  readonly displayName: string
  readonly servers: readonly SetupServer[]
  /** How others are to send mail here; none where that is not told. */
  readonly stsMode: StsMode
}

/** From the same settings as the profile for phones. */
export function autoconfigOf({ setup, hostname, mobileconfig, smtp }: Config): AutoconfigDeps {
  const servers = (['imap', 'pop3', 'smtp'] as const).map(kind => {
    const { host, port, security } = setup[kind]
    return { kind, host: host || hostname, port, security }
  })
  return { hostname, displayName: mobileconfig.organization, servers, stsMode: smtp.stsMode }
}

export function autoconfigEndpoints({ hostname, displayName, servers, stsMode }: AutoconfigDeps) {
  const setupFor = (given: string): Setup => {
    const address = isAddress(given) ? given : ''
    return { domain: address === '' ? hostname : splitAddress(address).domain, address, displayName, servers }
  }
  const xml = (body: string) => binary({ headers: { 'content-type': 'text/xml; charset=utf-8' }, body })
  const mozilla = {
    tag: 'Autoconfiguration',
    summary: 'Where the servers are, for Thunderbird and others',
    allow: 'public',
    anywhere: true,
    open: true,
    replyType: 'text/xml',
    query: { emailaddress: optional(text({ max: 320 })) },
    run: ({ input }: { input: { emailaddress?: string } }) => xml(thunderbirdXml(setupFor(input.emailaddress ?? ''))),
  } as const

  const byHost = endpoint({ method: 'GET', path: '/mail/config-v1.1.xml', ...mozilla })

  const byPath = endpoint({ method: 'GET', path: '/.well-known/autoconfig/mail/config-v1.1.xml', ...mozilla })

  const microsoft = {
    tag: 'Autoconfiguration',
    summary: 'Where the servers are, for Outlook and others',
    allow: 'public',
    anywhere: true,
    bodyKind: 'raw',
    bodyBytesMax: limits.transfer.headBytesMax,
    replyType: 'text/xml',
    async run({ request }: { request: { body(): Promise<Buffer> } }) {
      return xml(autodiscoverXml(setupFor(autodiscoverAddress((await request.body()).toString('utf8')))))
    },
  } as const

  const lower = endpoint({ method: 'POST', path: '/autodiscover/autodiscover.xml', ...microsoft })

  const upper = endpoint({ method: 'POST', path: '/Autodiscover/Autodiscover.xml', ...microsoft })

  const policy = endpoint({
    method: 'GET',
    path: '/.well-known/mta-sts.txt',
    tag: 'Autoconfiguration',
    summary: 'How other servers are to send mail here (RFC 8461)',
    allow: 'public',
    anywhere: true,
    open: true,
    replyType: 'text/plain',
    faults: ['ResourceNotFound'],
    run() {
      if (stsMode === 'none') throw new Fault('ResourceNotFound')
      const headers = { 'content-type': 'text/plain; charset=utf-8' }
      return binary({ headers, body: stsPolicyText(hostname, stsMode) })
    },
  })

  return [byHost, byPath, lower, upper, policy]
}
