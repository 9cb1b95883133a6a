// What other services report about a domain, of the last thirty days: who sends in its name without being proven (DMARC), and what
// kept mail from getting here over TLS.
//
// Anybody may send a report: those of which nobody was proven to be the sender are counted, and their figures left out.

import { number } from '../../base/language.ts'
import { Card, Fact, Facts, Loaded, Table } from '../../base/parts.tsx'
import { useCall } from '../../base/resource.ts'
import { adminTexts } from '../texts/texts.ts'

const shownMax = 10

export function Reported({ domain }: { readonly domain: string }) {
  const { domains: texts } = adminTexts.value
  const found = useCall('GET /reports/summary', { query: { domain } })
  return (
    <Card title={texts.reported} text={texts.reportedHint}>
      <Loaded of={found}>
        {({ dmarc, tls, unproven }) => {
          const others = unproven.dmarc.reports + unproven.tls.reports
          return (
            <>
              {dmarc.reports + tls.reports === 0 && <p class="muted">{texts.notReported}</p>}
              <Facts>
                {dmarc.reports > 0 && (
                  <Fact name="DMARC">{texts.messagesReported(number(dmarc.messages), number(dmarc.failed))}</Fact>
                )}
                {tls.reports > 0 && (
                  <Fact name="TLS">{texts.sessionsReported(number(tls.sessions), number(tls.failed))}</Fact>
                )}
              </Facts>
              {dmarc.sources.length > 0 && (
                <Table
                  label={texts.sources}
                  rows={dmarc.sources.slice(0, shownMax)}
                  id={({ ip }) => ip}
                  columns={[
                    { title: texts.sources, cell: ({ ip }) => <Code text={ip} /> },
                    { title: texts.messages, cell: ({ messages }) => number(messages), atEnd: true },
                    { title: texts.notProven, cell: ({ failed }) => number(failed), atEnd: true },
                  ]}
                />
              )}
              {tls.failures.length > 0 && (
                <Table
                  label={texts.failures}
                  rows={tls.failures.slice(0, shownMax)}
                  id={({ result, host }) => `${result} ${host}`}
                  columns={[
                    { title: texts.failures, cell: ({ result }) => <Code text={result} /> },
                    { title: texts.host, cell: ({ host }) => <Code text={host} /> },
                    { title: texts.connections, cell: ({ sessions }) => number(sessions), atEnd: true },
                  ]}
                />
              )}
              {others > 0 && <p class="muted">{texts.unprovenReports(number(others))}</p>}
            </>
          )
        }}
      </Loaded>
    </Card>
  )
}

function Code({ text }: { readonly text: string }) {
  return (
    <bdi class="code" dir="ltr">
      {text}
    </bdi>
  )
}
