// The first page of an account: who it is, where mail for it arrives, how much room is left.
//
// Only the name is changed here; each of the others has a page of its own.

import { call } from '../base/client.ts'
import { Form, Submit, TextField, useForm } from '../base/form.tsx'
import { bytes, number, percent } from '../base/language.ts'
import { done } from '../base/notice.tsx'
import { Badge, Card, Fact, Facts, Loaded, Meter, Page } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { at } from '../base/router.ts'
import { owner, refreshSession } from '../base/session.ts'
import { baseTexts } from '../texts/texts.ts'
import { accountTexts } from './texts/texts.ts'

export function OverviewPage() {
  const texts = accountTexts.value.overview
  const params = { user: owner().id }
  const account = useCall('GET /users/:user', { params })
  const addresses = useCall('GET /users/:user/addresses', { params })
  return (
    <Page title={texts.title} lead={texts.lead}>
      <Loaded of={account}>
        {({ name, address, username, limits: { quota, recipients, forwards, received } }) => (
          <>
            <Card title={texts.you}>
              <Facts>
                <Fact name={texts.address}>
                  <bdi>{address}</bdi>
                </Fact>
                <Fact name={texts.username}>
                  <bdi>{username}</bdi>
                </Fact>
              </Facts>
              <NameForm name={name} />
            </Card>
            <Card title={texts.storage}>
              <Meter used={quota.used} allowed={quota.allowed} label={texts.storage} />
              <p class="hint">
                {texts.used(bytes(quota.used), bytes(quota.allowed), percent(quota.used / (quota.allowed || 1)))}
              </p>
            </Card>
            <Card title={texts.limits}>
              <Facts>
                {(
                  [
                    [texts.recipients, recipients],
                    [texts.forwards, forwards],
                    [texts.received, received],
                  ] as const
                ).map(([title, { used, allowed }]) => (
                  <Fact key={title} name={title}>
                    {texts.of(number(used), number(allowed))}
                  </Fact>
                ))}
              </Facts>
            </Card>
          </>
        )}
      </Loaded>
      <Card title={texts.addresses} text={texts.addressesText}>
        <Loaded of={addresses}>
          {({ results }) => (
            <ul class="lines">
              {results.map(one => (
                <li key={one.id}>
                  <bdi>{one.address}</bdi>
                  {one.main && <Badge kind="good">{texts.main}</Badge>}
                </li>
              ))}
            </ul>
          )}
        </Loaded>
        <p>
          <a href={at('/account/addresses')}>{texts.change}</a>
        </p>
      </Card>
    </Page>
  )
}

function NameForm({ name }: { readonly name: string }) {
  const texts = accountTexts.value.overview
  const form = useForm({ name }, async body => {
    await call('PUT /users/:user', { params: { user: owner().id }, body })
    await refreshSession()
    done(baseTexts.value.saved)
  })
  return (
    <Form of={form}>
      <TextField name="name" label={texts.name} hint={texts.nameHint} autocomplete="name" />
      <Submit>{baseTexts.value.save}</Submit>
    </Form>
  )
}
