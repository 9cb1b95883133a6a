// What goes wrong for an application: the rules that are in force, how often each has struck, and a form for another.
//
// Rules are the service's own; nothing of them is kept here, so that another window or a script may change them, too.

import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Dialog } from '../base/dialog.tsx'
import { Form, SelectField, Submit, TextField, useForm } from '../base/form.tsx'
import { failed } from '../base/notice.tsx'
import { ask, type Rule } from './rest.ts'
import { devTexts } from './texts/texts.ts'

export const rules = signal<readonly Rule[]>([])

export async function loadRules(): Promise<void> {
  try {
    rules.value = await ask<Rule[]>('GET', '/failures')
  } catch (error) {
    failed(error)
  }
}

/** What stands in the field of a kind at first, and where it strikes alone. */
const kinds = {
  reply: { value: '451 4.3.0 Later' },
  delay: { value: '5000' },
  drop: { value: '' },
  greylist: { value: '60000', at: 'rcpt' },
  bounce: { value: '550 5.1.1 No such user', at: 'end' },
} as const
type Kind = keyof typeof kinds

export function Failures({ close }: { close(): void }) {
  const texts = devTexts.value
  useEffect(() => void loadRules(), [])
  const take = async (id: string) => {
    await ask('DELETE', `/failures/${id}`).catch(failed)
    await loadRules()
  }
  return (
    <Dialog title={texts.failures} onClose={close} wide>
      <p class="hint">{texts.failuresText}</p>
      <ul class="lines" aria-label={texts.rules}>
        {rules.value.map(({ id, rule, hits }) => (
          <li key={id}>
            <span class="grow">
              <bdi dir="ltr">
                {Object.entries(rule)
                  .map(([name, value]) => `${name} ${value}`)
                  .join(', ')}
              </bdi>
              : {texts.times(hits)}
            </span>
            <button type="button" aria-label={texts.takeAwayRule(id)} onClick={() => void take(id)}>
              {texts.takeAway}
            </button>
          </li>
        ))}
      </ul>
      <NewRule />
    </Dialog>
  )
}

function NewRule() {
  const texts = devTexts.value
  const initial = {
    at: 'rcpt',
    does: 'reply',
    value: kinds.reply.value as string,
    to: '',
    from: '',
    times: '',
    chance: '',
  }
  const form = useForm(initial, async ({ at, does, value, to, from, times, chance }) => {
    const kind = does as Kind
    const isText = kind === 'reply' || kind === 'bounce'
    await ask('POST', '/failures', {
      ...{ at, [kind]: kind === 'drop' ? true : isText ? value.trim() : Number(value) },
      ...(to.trim() !== '' && { to: to.trim() }),
      ...(from.trim() !== '' && { from: from.trim() }),
      ...(times.trim() !== '' && { times: Number(times) }),
      ...(chance.trim() !== '' && { chance: Number(chance) / 100 }),
    })
    await loadRules()
  })
  const kind = form.values.value.does as Kind
  useEffect(() => {
    const { value, ...place } = kinds[kind]
    form.set({ value, ...place })
  }, [kind])
  return (
    <Form of={form} label={texts.newRule}>
      <div class="pair">
        <SelectField name="at" label={texts.at} options={texts.places} />
        <SelectField name="does" label={texts.what} options={texts.kinds} />
        {kind !== 'drop' && <TextField name="value" label={texts.values[kind]} isCode />}
        <TextField name="to" label={texts.recipient} placeholder={texts.any} isCode />
        <TextField name="from" label={texts.sender} placeholder={texts.any} isCode />
        <TextField name="times" label={texts.timesLabel} placeholder={texts.always} inputMode="numeric" />
        <TextField name="chance" label={texts.chance} placeholder="100" inputMode="numeric" />
      </div>
      <Submit>{texts.add}</Submit>
    </Form>
  )
}
