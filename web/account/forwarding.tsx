// Where mail of this account is sent on to. A copy stays here.
//
// Whether a target can be reached is found out with the first mail; only its form is checked when it is saved.

import { call } from '../base/client.ts'
import { Form, Submit, TextArea, useForm } from '../base/form.tsx'
import { done } from '../base/notice.tsx'
import { Card, Loaded, Page } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { owner } from '../base/session.ts'
import { baseTexts } from '../texts/texts.ts'
import { accountTexts } from './texts/texts.ts'

export function ForwardingPage() {
  const texts = accountTexts.value.forwarding
  const account = useCall('GET /users/:user', { params: { user: owner().id } })
  return (
    <Page title={texts.title} lead={texts.lead}>
      <Card>
        <Loaded of={account}>{({ targets }) => <TargetsForm targets={targets} />}</Loaded>
      </Card>
    </Page>
  )
}

function TargetsForm({ targets }: { readonly targets: readonly string[] }) {
  const texts = accountTexts.value.forwarding
  const kept = targets.join('\n')
  const form = useForm({ targets: kept }, async values => {
    // Secrets in them are not shown: what was not changed is not sent.
    if (values.targets === kept) return done(baseTexts.value.saved)
    const body = { targets: values.targets.split(/[\s,;]+/).filter(one => one !== '') }
    await call('PUT /users/:user', { params: { user: owner().id }, body })
    done(baseTexts.value.saved)
  })
  return (
    <Form of={form} label={texts.title}>
      <TextArea name="targets" label={texts.targets} hint={texts.targetsHint} rows={4} isCode />
      <Submit>{baseTexts.value.save}</Submit>
    </Form>
  )
}
