// Forwarding by hand, and mail that goes round in circles.

import { expect, test } from 'vitest'
import { type FaultCode, faultForms } from '#lib/fault.ts'
import { loopHeader } from '#mail/made/loop.ts'
import { useTeal } from '../../../running.ts'
import { send } from '../mail.ts'

// Nothing leaves, so that what was queued can be looked at.
const running = useTeal({ outbound: { enabled: false } })
const { call, user } = running

/** What an LMTP client is told. */
function told(code: FaultCode): string {
  const { smtp, text }: { smtp?: string; text: string } = faultForms[code]
  return `${smtp} ${text}`
}

const message = 'From: a@example.org\nTo: b@example.com\nSubject: round\nMessage-ID: <round@example.org>\n'

test('a forwarded address takes a message once, and refuses it when it comes back', async () => {
  const form = { address: 'round@example.com', targets: ['next@elsewhere.test'] }
  const { body } = await call('POST', '/addresses/forwarded', form)
  expect(body).toMatchObject({ success: true })
  const queued = async () => (await call('GET', '/outbound')).body.destinations
  expect(await send(running, form.address, `${message}\nHello\n`)).toEqual([expect.stringMatching(/^250 /)])
  const before = await queued()
  const header = loopHeader(running.teal.core.forwardKeys.loopSecret, body.id).replace('\r\n', '\n')
  expect(await send(running, form.address, `${message}${header}\nHello\n`)).toEqual([told('ForwardLoop')])
  expect(await queued()).toEqual(before)
})

test('a stored message is forwarded to further addresses, is marked, and is listed as queued', async () => {
  const id = await user('hand')
  const inbox = (await call('GET', `/users/${id}/mailboxes`)).body.results[0].id
  const path = `/users/${id}/mailboxes/${inbox}/messages`
  const stored = (await call('POST', path, { raw: `${message}\nHello\n`.replaceAll('\n', '\r\n') })).body.message.id

  const none = await call('POST', `/users/${id}/mailboxes/${inbox}/messages/${stored}/forward`, {})
  expect(none.body).toEqual({ success: true })

  const addresses = ['one@elsewhere.test', 'two@elsewhere.test']
  const done = await call('POST', `/users/${id}/mailboxes/${inbox}/messages/${stored}/forward`, { addresses })
  expect(done.body).toMatchObject({ success: true, queueId: expect.stringMatching(/^[0-9a-f]{18}$/) })
  expect(done.body.forwarded).toEqual([
    { seq: '001', type: 'mail', value: 'one@elsewhere.test' },
    { seq: '002', type: 'mail', value: 'two@elsewhere.test' },
  ])
  const { results } = (await call('GET', `/users/${id}/outbound`)).body
  expect(results.map((one: { queueId: string }) => one.queueId)).toContain(done.body.queueId)
  expect((await call('GET', `${path}/${stored}`)).body.forwarded).toBe(true)

  const gone = await call('POST', `/users/${id}/mailboxes/${inbox}/messages/${stored + 1}/forward`, { addresses })
  expect([gone.status, gone.body.code]).toEqual([404, 'MessageNotFound'])
})
