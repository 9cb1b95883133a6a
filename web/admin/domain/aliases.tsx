// Domains that stand for a domain: mail for them goes to the same addresses of it.
//
// Taking one away has its mail refused, so it asks first.

import { call } from '../../base/client.ts'
import { ask } from '../../base/dialog.tsx'
import { Form, Submit, TextField, useForm } from '../../base/form.tsx'
import { Card, IconButton, Loaded, Located } from '../../base/parts.tsx'
import { useCall } from '../../base/resource.ts'
import { may } from '../../base/session.ts'
import { baseTexts } from '../../texts/texts.ts'
import { act } from '../kit/act.tsx'
import { adminTexts } from '../texts/texts.ts'

/** As many as are asked for at once; the service finds by part of a name, so others may be among them. */
const shownMax = 250

export function Aliases({ domain }: { readonly domain: string }) {
  const { domains: texts, common } = adminTexts.value
  const found = useCall('GET /domainaliases', { query: { query: domain, limit: shownMax } })
  const form = useForm({ alias: '' }, async ({ alias }) => {
    await call('POST /domainaliases', { body: { alias, domain } })
    form.set({ alias: '' })
    await found.reload()
  })
  const remove = async (id: string, alias: string) => {
    const title = `${baseTexts.value.remove} ${alias}`
    const question = { title, text: texts.aliasAsk(alias), action: baseTexts.value.remove, danger: true }
    if (!(await ask(question))) return
    await act(() => call('DELETE /domainaliases/:alias', { params: { alias: id } }), common.removed, found.reload)
  }
  return (
    <Card title={texts.aliases}>
      <Loaded of={found}>
        {({ results }) => {
          const own = results.filter(one => one.domain === domain)
          if (own.length === 0) return <p class="muted">{common.none}</p>
          return (
            <ul class="lines">
              {own.map(({ id, alias }) => (
                <li key={id}>
                  <Located text={alias} />
                  {may('domainaliases.delete', 'domain') && (
                    <IconButton
                      icon="trash"
                      label={`${baseTexts.value.remove} ${alias}`}
                      onClick={() => void remove(id, alias)}
                    />
                  )}
                </li>
              ))}
            </ul>
          )
        }}
      </Loaded>
      {may('domainaliases.create', 'domain') && (
        <Form of={form} label={texts.addAlias}>
          <TextField name="alias" label={texts.alias} isCode autocomplete="off" />
          <Submit>{common.add}</Submit>
        </Form>
      )}
    </Card>
  )
}
