// The keys that sign the mail of a domain: those it has without being asked, and one that was put in by hand, which signs alone.
//
// Each comes with the record to be published and what DNS has under its name now. A private key goes in and never comes out.

import { useState } from 'preact/hooks'
import { call, type Reply } from '../../base/client.ts'
import { ask, Dialog } from '../../base/dialog.tsx'
import { FieldErrors, Form, Submit, TextArea, TextField, useForm } from '../../base/form.tsx'
import { day, moment } from '../../base/language.ts'
import { done } from '../../base/notice.tsx'
import { Badge, Card, Fact, Facts, Loaded, Table } from '../../base/parts.tsx'
import { useCall, useResource } from '../../base/resource.ts'
import { may } from '../../base/session.ts'
import { baseTexts } from '../../texts/texts.ts'
import { act } from '../kit/act.tsx'
import { adminTexts } from '../texts/texts.ts'
import { type Dns, DnsBadge, FoundNow, Value } from './value.tsx'

type Listed = Reply<'GET /domainkeys'>['results'][number]
type Key = Reply<'GET /dkim/:dkim'>

interface Part {
  readonly domain: string
  readonly dns: Dns | undefined
  again(): Promise<void>
}

export function Keys({ domain, dns, again }: Part) {
  const { domains: texts, common } = adminTexts.value
  const keys = useCall('GET /domainkeys', { query: { domain } })
  const rotate = async () => {
    if (!(await ask({ title: texts.rotate, text: texts.rotateAsk, action: texts.rotate }))) return
    const make = async () => keys.show(await call('POST /domainkeys/rotate', { body: { domain } }))
    await act(make, texts.rotated, again)
  }
  const check = async () => {
    const look = async () => keys.show(await call('POST /domainkeys/check', { body: { domain } }))
    await act(look, texts.looked, again)
  }
  const actions = may('dkim.create', 'domain') && (
    <>
      <button type="button" onClick={() => void check()}>
        {texts.check}
      </button>
      <button type="button" onClick={() => void rotate()}>
        {texts.rotate}
      </button>
    </>
  )
  return (
    <Card title={texts.dkim} text={texts.dkimHint} actions={actions}>
      <Loaded of={keys}>
        {({ results }) =>
          results.length === 0 ? (
            <p class="muted">{texts.noDkim}</p>
          ) : (
            <Table
              label={texts.dkim}
              rows={results}
              id={({ selector }) => selector}
              columns={[
                { title: texts.selector, cell: row => <Selector of={row} /> },
                { title: texts.publish, cell: ({ dnsTxt }) => <Published of={dnsTxt} dns={dns} /> },
                {
                  title: common.state,
                  cell: ({ state, signs, why }) => (
                    <span class="about">
                      <Badge kind={signs ? 'good' : 'plain'}>
                        {texts.keyStates[state as keyof typeof texts.keyStates] ?? state}
                      </Badge>
                      <span class="muted">{texts.whys[why as keyof typeof texts.whys] ?? why}</span>
                    </span>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  )
}

function Selector({ of: { selector, algorithm, created, until } }: { readonly of: Listed }) {
  const { domains: texts } = adminTexts.value
  return (
    <span class="about">
      <bdi class="code" dir="ltr">
        {selector} ({algorithm})
      </bdi>
      <span class="muted">{until === undefined ? texts.madeAt(day(created)) : texts.keptUntil(day(until))}</span>
    </span>
  )
}

/** A record of a key, and what DNS has under its name. */
function Published({ of: { name, value }, dns }: { readonly of: Key['dnsTxt']; readonly dns: Dns | undefined }) {
  const seen = dns?.records.find(one => one.name === name && one.type === 'TXT')
  return (
    <span class="about">
      <Value text={name} />
      <Value text={value} />
      {seen !== undefined && (
        <span>
          <DnsBadge state={seen.state} />
        </span>
      )}
      {seen?.state === 'wrong' && <FoundNow found={seen.found} />}
    </span>
  )
}

export function HandKey({ domain, dns, again }: Part) {
  const { domains: texts, common } = adminTexts.value
  const [open, setOpen] = useState<'give' | 'move' | null>(null)
  const found = useResource(async signal => {
    const { results } = await call('GET /dkim', { query: { query: domain }, signal })
    const own = results.find(one => one.domain === domain)
    return { key: own && (await call('GET /dkim/:dkim', { params: { dkim: own.id }, signal })) }
  }, `hand key ${domain}`)
  const key = found.data?.key
  const close = () => setOpen(null)
  const changed = async () => {
    close()
    await found.reload()
    await again()
  }
  const remove = async (id: string) => {
    const question = { title: texts.handRemove, text: texts.handRemoveAsk, action: texts.handRemove, danger: true }
    if (!(await ask(question))) return
    await act(() => call('DELETE /dkim/:dkim', { params: { dkim: id } }), common.removed, changed)
  }
  const mayCreate = may('dkim.create', 'domain')
  const actions = (
    <>
      {mayCreate && (
        <button type="button" onClick={() => setOpen('give')}>
          {key === undefined ? texts.handGive : texts.handReplace}
        </button>
      )}
      {mayCreate && key !== undefined && (
        <button type="button" onClick={() => setOpen('move')}>
          {texts.move}
        </button>
      )}
      {may('dkim.delete', 'domain') && key !== undefined && (
        <button type="button" class="danger" onClick={() => void remove(key.id)}>
          {texts.handRemove}
        </button>
      )}
    </>
  )
  return (
    <Card title={texts.hand} text={texts.handHint} actions={actions}>
      <Loaded of={found}>
        {data =>
          data.key === undefined ? <p class="muted">{common.none}</p> : <HandKeyFacts of={data.key} dns={dns} />
        }
      </Loaded>
      {open === 'give' && <GiveKey domain={domain} onClose={close} onDone={changed} />}
      {open === 'move' && key !== undefined && <MoveKey of={key} onClose={close} onDone={changed} />}
    </Card>
  )
}

function HandKeyFacts({ of, dns }: { readonly of: Key; readonly dns: Dns | undefined }) {
  const { domains: texts, common } = adminTexts.value
  return (
    <Facts>
      <Fact name={texts.selector}>
        <bdi class="code" dir="ltr">
          {of.selector}
        </bdi>
      </Fact>
      {of.description !== undefined && of.description !== '' && <Fact name={common.description}>{of.description}</Fact>}
      <Fact name={common.created}>{moment(of.created)}</Fact>
      <Fact name={texts.publish}>
        <Published of={of.dnsTxt} dns={dns} />
      </Fact>
      <Fact name={texts.fingerprint}>
        <bdi class="code value" dir="ltr">
          {of.fingerprint}
        </bdi>
      </Fact>
    </Facts>
  )
}

interface DialogPart {
  onClose(): void
  onDone(): Promise<void>
}

function GiveKey({ domain, onClose, onDone }: DialogPart & { readonly domain: string }) {
  const { domains: texts, common } = adminTexts.value
  const form = useForm({ selector: '', privateKey: '', description: '' }, async fields => {
    // Without one the service would make one, and sign with it before DNS shows it.
    if (fields.privateKey.trim() === '') throw new FieldErrors({ privateKey: texts.keyWanted })
    const { description, ...more } = fields
    await call('POST /dkim', { body: { domain, ...more, ...(description !== '' && { description }) } })
    done(baseTexts.value.saved)
    await onDone()
  })
  return (
    <Dialog title={texts.handGive} onClose={onClose}>
      <p>{texts.handGiveHint}</p>
      <Form of={form}>
        <TextField name="selector" label={texts.selector} isCode autofocus autocomplete="off" />
        <TextArea name="privateKey" label={texts.privateKey} hint={texts.privateKeyHint} rows={6} isCode />
        <TextField name="description" label={common.description} autocomplete="off" />
        <Submit>{baseTexts.value.save}</Submit>
      </Form>
    </Dialog>
  )
}

/** The same key under another name in DNS. */
function MoveKey({ of, onClose, onDone }: DialogPart & { readonly of: Key }) {
  const { domains: texts } = adminTexts.value
  const form = useForm({ selector: of.selector }, async ({ selector }) => {
    await call('PUT /dkim/:dkim', { params: { dkim: of.id }, body: { selector } })
    done(baseTexts.value.saved)
    await onDone()
  })
  const selector = form.values.value.selector.trim().toLowerCase()
  const name = of.dnsTxt.name.replace(`${of.selector}.`, `${selector}.`)
  return (
    <Dialog title={texts.move} onClose={onClose}>
      <p>{texts.moveHint}</p>
      <Form of={form}>
        <TextField name="selector" label={texts.selector} isCode autofocus autocomplete="off" />
        {selector !== '' && (
          <>
            <Value text={name} />
            <Value text={of.dnsTxt.value} />
          </>
        )}
        <Submit>{texts.move}</Submit>
      </Form>
    </Dialog>
  )
}
