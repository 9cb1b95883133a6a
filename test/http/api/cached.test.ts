// What a cache between the service and a client may keep of somebody's things: X-Access-Token says nothing to it.

import { expect, test } from 'vitest'
import { useTeal } from '../../running.ts'

const service = useTeal()

test('no answer with things of an account is for caches that others share', async () => {
  const id = await service.user('kept')
  const { results } = (await service.call('GET', `/users/${id}/mailboxes`)).body
  const messages = `/users/${id}/mailboxes/${results[0].id}/messages`
  const attachments = [{ filename: 'a.txt', content: Buffer.from('kept').toString('base64') }]
  const { message } = (await service.call('POST', messages, { subject: 'kept', text: 'kept', attachments })).body
  const shown = (await service.call('GET', `${messages}/${message.id}`)).body
  const file = (await service.call('POST', `/users/${id}/storage`, { content: 'kept' })).body.id
  for (const path of [
    `${messages}/${message.id}`,
    `${messages}/${message.id}/message.eml`,
    `${messages}/${message.id}/attachments/${shown.attachments[0].id}`,
    `/users/${id}/storage/${file}`,
    `/users/${id}/export.mbox`,
  ]) {
    const answer = await service.raw('GET', path)
    await answer.arrayBuffer()
    expect([path, answer.status]).toEqual([path, 200])
    expect([path, answer.headers.get('cache-control')]).toEqual([path, expect.stringMatching(/^(no-store|private)\b/)])
  }
})
