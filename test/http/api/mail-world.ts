// What tests of the message API share: folders by name, messages put in, waiting for a task.

import { expect } from 'vitest'
import { sleep } from '#lib/clock.ts'
import type { Body, Running } from '../../running.ts'

export interface Account {
  readonly id: string
  /** Id of a folder by its path. */
  box(path: string): string
  /** Calls below `/users/:id`. */
  call(method: string, path: string, body?: unknown, token?: string | null): Promise<{ status: number; body: Body }>
  /** Uploads into a folder and answers the message's number. */
  put(path: string, message: Record<string, unknown>): Promise<number>
  /** A token of this user. */
  token(): Promise<string>
  /** The result of a task once it has ended. */
  done(task: string): Promise<Body>
}

/** Makes an account with its standard folders. */
export async function account(service: Running, name: string, more: Record<string, unknown> = {}): Promise<Account> {
  const id = await service.user(name, more)
  const boxes = new Map<string, string>()
  const call: Account['call'] = (method, path, body, token) => service.call(method, `/users/${id}${path}`, body, token)
  const refresh = async () => {
    for (const box of (await call('GET', '/mailboxes?showHidden=true')).body.results) boxes.set(box.path, box.id)
  }
  await refresh()
  const put: Account['put'] = async (path, message) => {
    if (!boxes.has(path)) await refresh()
    const answer = await call('POST', `/mailboxes/${boxes.get(path)}/messages`, message)
    expect(answer.body).toMatchObject({ success: true })
    return answer.body.message.id
  }
  return {
    id,
    box: path => boxes.get(path) ?? '000000000000000000000000',
    call,
    put,
    async token() {
      const form = { username: name, password: `secret of ${name}`, token: true }
      const answer = await service.call('POST', '/authenticate', form)
      expect(answer.body).toMatchObject({ success: true })
      return answer.body.token
    },
    async done(task) {
      for (let tries = 0; tries < 400; tries++) {
        const { body } = await call('GET', `/tasks/${task}`)
        if (body.state === 'done' || body.state === 'failed') return body
        await sleep(25)
      }
      throw new Error(`task ${task} does not end`)
    },
  }
}

/** Fields of a small message. */
export function mail(subject: string, text: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    from: { name: 'Sender', address: 'sender@example.net' },
    to: [{ name: 'Receiver', address: 'receiver@example.com' }],
    subject,
    text,
    ...more,
  }
}
