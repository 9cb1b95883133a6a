// A service with one account whose INBOX holds given messages, asked for them by IMAP and by HTTP alike; for tests of what is
// found, before it is indexed and after.

import { beforeAll, expect } from 'vitest'
import { useTeal } from '../running.ts'
import { Client } from './client.ts'

/** @param name of the account. @param messages as they are appended, in order */
export function useSearched(name: string, messages: () => readonly string[]) {
  const service = useTeal()
  let id = ''
  let client: Client

  beforeAll(async () => {
    id = await service.user(name)
    client = await Client.login(service.at('imap'), name, 'INBOX')
    for (const text of messages()) await client.ok(`APPEND INBOX {${Buffer.byteLength(text)}+}\r\n${text}`)
    return () => client.close()
  })

  return {
    service,
    /** Id of the account. */
    user: () => id,
    client: () => client,
    /** Numbers of the messages that IMAP finds, one blank between each two. */
    async search(criteria: string): Promise<string> {
      const lines = await client.ok(`SEARCH CHARSET UTF-8 ${criteria}`)
      return (lines.find(line => line.startsWith('* SEARCH')) ?? '').split(' ').slice(2).join(' ')
    },
    /** Subjects of those that HTTP finds. */
    async found(query: string): Promise<string[]> {
      const { status, body } = await service.call('GET', `/users/${id}/search?${query}`)
      expect([query, status]).toEqual([query, 200])
      return body.results.map((row: { subject: string }) => row.subject)
    },
  }
}
