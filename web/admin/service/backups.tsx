// Backups that the service takes by itself: which there are, how old, and one more now.
//
// Taking one goes on in the service whoever looks; the page asks how it goes until it is done.

import { useEffect } from 'preact/hooks'
import { call } from '../../base/client.ts'
import { moment, number, relative } from '../../base/language.ts'
import { Badge, Card, Empty, Loaded, Page, Table } from '../../base/parts.tsx'
import { useCall } from '../../base/resource.ts'
import { may } from '../../base/session.ts'
import { act } from '../kit/act.tsx'
import { adminTexts } from '../texts/texts.ts'

const lookMs = 2000
const hourSeconds = 3600

export function BackupsPage() {
  const { pages, backups: texts, common } = adminTexts.value
  const found = useCall('GET /backups', {})
  const isRunning = found.data?.running === true
  useEffect(() => {
    if (!isRunning) return undefined
    const timer = setInterval(() => void found.reload(), lookMs)
    return () => clearInterval(timer)
  }, [isRunning])
  const take = () => act(() => call('POST /backups'), texts.begun, found.reload)
  const action = may('backups.create', 'any') && found.data?.enabled === true && (
    <button type="button" class="primary" disabled={isRunning} onClick={() => void take()}>
      {isRunning ? texts.running : texts.take}
    </button>
  )
  return (
    <Page title={pages.backups} actions={action}>
      <Loaded of={found}>
        {({ enabled, keep, every, failed, results }) => (
          <>
            {!enabled && <p class="callout warn">{texts.off}</p>}
            {failed !== undefined && <p class="failure">{texts.failed(moment(failed.at), failed.reason)}</p>}
            <Card
              text={enabled ? texts.keep(number(keep), number(every / hourSeconds)) : undefined}
              title={pages.backups}
            >
              {results.length === 0 ? (
                <Empty icon="storage" title={common.nothing} />
              ) : (
                <Table
                  label={pages.backups}
                  rows={results}
                  id={({ name }) => name}
                  columns={[
                    { title: common.name, cell: ({ name }) => <bdi class="code">{name}</bdi> },
                    { title: texts.moment, cell: ({ created }) => moment(created) },
                    {
                      title: texts.age,
                      cell: ({ created, age }) => (
                        <Badge kind={enabled && age > 3 * every ? 'bad' : 'good'}>{relative(created)}</Badge>
                      ),
                    },
                  ]}
                />
              )}
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  )
}
