// What a domain may hold, and what its users get who are given nothing else.
//
// Whoever looks after the domain alone changes its description; the rest is set by whoever looks after the service. What was not
// changed is not sent.

import { call } from '../../base/client.ts'
import { FieldErrors, Form, Submit, TextField, useForm } from '../../base/form.tsx'
import { done } from '../../base/notice.tsx'
import { Card } from '../../base/parts.tsx'
import { may } from '../../base/session.ts'
import { baseTexts } from '../../texts/texts.ts'
import { linesOf } from '../kit/list.tsx'
import { adminTexts } from '../texts/texts.ts'
import type { DomainPart } from './domain.tsx'

const mebi = 1024 ** 2

const mostNames = ['maxUsers', 'maxAddresses', 'maxForwards'] as const

/** Fields that are counts in a form, as the service gets them. @throws FieldErrors */
function countsOf<Name extends string>(fields: Readonly<Record<Name, string>>, names: readonly Name[]) {
  const wrong = names.filter(name => !/^\d{1,15}$/.test(fields[name].trim()))
  if (wrong.length > 0) {
    throw new FieldErrors(Object.fromEntries(wrong.map(name => [name, adminTexts.value.common.wantNumber])))
  }
  return Object.fromEntries(names.map(name => [name, Number(fields[name])])) as Record<Name, number>
}

/** Megabytes of a field, in bytes; nothing where it says what it said before. */
function megabytes(text: string, before: string): number | undefined {
  return text === before ? undefined : Number(text) * mebi
}

export function Settings({ domain, of }: DomainPart) {
  const { domains: texts, common } = adminTexts.value
  const isAll = may('domains.update', 'any')
  const initial = {
    description: domain.description,
    tags: domain.tags.join(', '),
    maxUsers: String(domain.maxUsers),
    maxAddresses: String(domain.maxAddresses),
    maxForwards: String(domain.maxForwards),
    quota: String(Math.round(domain.quota / mebi)),
  }
  const form = useForm(initial, async fields => {
    const { quota: _, ...counts } = isAll ? countsOf(fields, [...mostNames, 'quota']) : { quota: 0 }
    const quota = isAll ? megabytes(fields.quota, initial.quota) : undefined
    const body = {
      description: fields.description,
      ...(isAll && { tags: linesOf(fields.tags), ...counts }),
      ...(quota !== undefined && { quota }),
    }
    of.show(await call('PUT /domains/:domain', { params: { domain: domain.name }, body }))
    done(baseTexts.value.saved)
  })
  return (
    <Card title={isAll ? texts.limits : common.description} text={isAll ? texts.limitsHint : undefined}>
      <Form of={form}>
        <TextField name="description" label={common.description} autocomplete="off" />
        {isAll && (
          <>
            <TextField name="tags" label={texts.tags} hint={texts.tagsHint} autocomplete="off" />
            <div class="pair">
              <TextField name="maxUsers" label={texts.maxUsers} kind="number" />
              <TextField name="maxAddresses" label={texts.maxAddresses} kind="number" />
              <TextField name="maxForwards" label={texts.maxForwards} kind="number" />
              <TextField name="quota" label={texts.quotaMb} kind="number" />
            </div>
          </>
        )}
        <Submit>{baseTexts.value.save}</Submit>
      </Form>
    </Card>
  )
}

const plain = ['recipients', 'forwards', 'receivedMax', 'filters', 'imapMaxConnections', 'pop3MaxMessages'] as const
const ofBytes = ['imapMaxUpload', 'imapMaxDownload', 'pop3MaxDownload'] as const

export function Defaults({ domain, of }: DomainPart) {
  const { domains: texts, users } = adminTexts.value
  const { defaultQuota, defaultLimits } = domain
  const megas = (count = 0) => String(Math.round(count / mebi))
  const initial = {
    defaultQuota: megas(defaultQuota),
    ...(Object.fromEntries(plain.map(name => [name, String(defaultLimits[name] ?? 0)])) as Record<
      (typeof plain)[number],
      string
    >),
    ...(Object.fromEntries(ofBytes.map(name => [name, megas(defaultLimits[name])])) as Record<
      (typeof ofBytes)[number],
      string
    >),
  }
  const form = useForm(initial, async fields => {
    const counts = countsOf(fields, ['defaultQuota', ...plain, ...ofBytes])
    const limits: Record<string, number> = {}
    for (const name of plain) if (fields[name] !== initial[name]) limits[name] = counts[name]
    for (const name of ofBytes) {
      const given = megabytes(fields[name], initial[name])
      if (given !== undefined) limits[name] = given
    }
    const quota = megabytes(fields.defaultQuota, initial.defaultQuota)
    const body = { defaultLimits: limits, ...(quota !== undefined && { defaultQuota: quota }) }
    of.show(await call('PUT /domains/:domain', { params: { domain: domain.name }, body }))
    done(baseTexts.value.saved)
  })
  const labels = {
    ...{ recipients: users.recipients, forwards: users.forwards, receivedMax: users.received, filters: users.filters },
    ...{ imapMaxConnections: users.imapMaxConnections, pop3MaxMessages: users.pop3MaxMessages },
  }
  return (
    <Card title={texts.defaults} text={texts.defaultsHint}>
      <Form of={form} label={texts.defaults}>
        <div class="pair">
          <TextField name="defaultQuota" label={users.quotaMb} kind="number" />
          {plain.map(name => (
            <TextField key={name} name={name} label={labels[name]} kind="number" />
          ))}
          {ofBytes.map(name => (
            <TextField key={name} name={name} label={users.traffic[name]} kind="number" />
          ))}
        </div>
        <Submit>{baseTexts.value.save}</Submit>
      </Form>
    </Card>
  )
}
