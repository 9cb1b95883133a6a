// What DNS says of a domain beside what it needs, and the keys below, which are judged by the same look.
//
// It is the service's own look, which it remembers for a moment. Records can be copied whole, also where they are shown in part.

import { call } from '../../base/client.ts'
import { relative } from '../../base/language.ts'
import { Badge, Card, Loaded, Table } from '../../base/parts.tsx'
import { type Resource, useCall } from '../../base/resource.ts'
import { act } from '../kit/act.tsx'
import { adminTexts } from '../texts/texts.ts'
import { HandKey, Keys } from './keys.tsx'
import { type Dns, DnsBadge, FoundNow, Value } from './value.tsx'

type DnsRecord = Dns['records'][number]

/** Records and keys of a domain. */
export function DnsAndKeys({ domain }: { readonly domain: string }) {
  const dns = useCall('GET /domains/:domain/dns', { params: { domain } })
  const again = async () => {
    dns.show(await call('GET /domains/:domain/dns', { params: { domain }, query: { again: true } }))
  }
  return (
    <>
      <Records dns={dns} again={again} />
      <Keys domain={domain} dns={dns.data} again={again} />
      <HandKey domain={domain} dns={dns.data} again={again} />
    </>
  )
}

function Records({ dns, again }: { readonly dns: Resource<Dns>; again(): Promise<void> }) {
  const { domains: texts, common } = adminTexts.value
  const button = (
    <button type="button" onClick={() => void act(again, texts.looked)}>
      {texts.checkAll}
    </button>
  )
  return (
    <Card title={texts.records} actions={button}>
      <Loaded of={dns}>
        {({ records, policy, checked }) => (
          <>
            <Table
              label={texts.records}
              rows={records}
              id={({ name, type, value }) => `${name} ${type} ${value}`}
              columns={[
                { title: texts.record, cell: row => <RecordName {...row} /> },
                { title: texts.wanted, cell: row => <Wanted {...row} /> },
                {
                  title: common.state,
                  cell: ({ state, optional }) => <DnsBadge state={state} isOptional={optional} />,
                },
              ]}
            />
            {policy.map(({ ip, result }) => (
              <p key={ip}>
                {texts.policy(ip)} <Badge kind={result === 'pass' ? 'good' : 'warn'}>{result}</Badge>
              </p>
            ))}
            <p class="muted">{texts.checked(relative(checked))}</p>
          </>
        )}
      </Loaded>
    </Card>
  )
}

function RecordName({ name, type, optional }: DnsRecord) {
  return (
    <span class="about">
      <bdi class="code" dir="ltr">
        {name} {type}
      </bdi>
      {optional && <span class="muted">{adminTexts.value.domains.optional}</span>}
    </span>
  )
}

function Wanted({ value, state, found }: DnsRecord) {
  return (
    <span class="about">
      <Value text={value} />
      {state === 'wrong' && <FoundNow found={found} />}
    </span>
  )
}
