// Commands that ask for much: they are answered whole, and while they run others have their turn.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { openpgp } from '#lib/process/lazy.ts'
import { useTeal } from '../running.ts'
import { append, Client, mail } from './client.ts'

const service = useTeal()
const login = (user: string, mailbox?: string) => Client.login(service.at('imap'), user, mailbox)

beforeAll(async () => {
  await service.user('anna')
  await service.user('bert')
})

/** How often somebody else is served before a command has its answer. */
async function servedBefore(client: Client, command: string): Promise<{ turns: number; lines: readonly string[] }> {
  const other = await login('bert', 'INBOX')
  let over = false
  const answer = client.ok(command).finally(() => {
    over = true
  })
  let turns = 0
  for (; !over; turns++) await other.ok('NOOP')
  other.close()
  return { turns, lines: await answer }
}

describe('FETCH', () => {
  test('items that ask for the same are one', async () => {
    const client = await login('anna')
    await client.ok('CREATE Same')
    await client.ok(append('Same', mail('one')))
    await client.ok('SELECT Same')
    const many = (item: string, count: number) => new Array(count).fill(item).join(' ')
    expect(await client.ok(`FETCH 1:* (${many('BODY.PEEK[HEADER.FIELDS (TO)]', 1899)} FLAGS)`)).toEqual([
      '* 1 FETCH (BODY[HEADER.FIELDS (TO)] {24}\r\nTo: anna@example.com\r\n\r\n FLAGS ())',
    ])
    const [envelope] = await client.ok(`FETCH 1 (${many('ENVELOPE', 1900)})`)
    expect(envelope?.match(/ENVELOPE/g)).toHaveLength(1)
    expect(await client.ok('FETCH 1 (BODY.PEEK[]<0.5> BODY.PEEK[]<0.7> BODY.PEEK[]<0.5>)')).toEqual([
      '* 1 FETCH (BODY[]<0> {5}\r\nFrom: BODY[]<0> {7}\r\nFrom: ")'.replace('From: BODY', 'From: BODY'),
    ])
    const [plain] = await client.ok('FETCH 1 (PREVIEW PREVIEW (LAZY) PREVIEW UID uid UID)')
    expect(plain).toMatch(/^\* 1 FETCH \(PREVIEW "[^"]*" UID \d+\)$/)
    // One of the two marks it as seen.
    const [seen] = await client.ok('FETCH 1 (BODY.PEEK[TEXT] BODY[TEXT])')
    expect(seen).toMatch(/^\* 1 FETCH \(BODY\[TEXT\] \{8\}\r\nHello\.\r\n FLAGS \(\\Seen/)
    client.close()
  })

  test('more different sections than any program asks for are refused', async () => {
    const client = await login('anna', 'Same')
    const sections = Array.from({ length: limits.imap.sectionsMax + 1 }, (_, at) => `BODY.PEEK[HEADER.FIELDS (X${at})]`)
    expect(await client.ask(`FETCH 1 (${sections.join(' ')})`)).toMatchObject({ status: 'BAD', lines: [] })
    const [answer] = await client.ok(`FETCH 1 (${sections.slice(1).join(' ')})`)
    expect(answer?.match(/BODY\[/g)).toHaveLength(limits.imap.sectionsMax)
    client.close()
  })

  test.each([30_000, 300_000, 3_000_000])('fields are picked out of a header of %d bytes', async size => {
    const client = await login('anna')
    const lines = Array.from({ length: size / 100 }, (_, at) => `X-Fill-${at}: ${'y'.repeat(80)}\r\n continued`)
    const header = ['Subject: first', ...lines, `X-Long: ${'z'.repeat(70_000)}`, 'SUBJECT : second', '\tfolded'].join(
      '\r\n',
    )
    await client.ok(`CREATE Header${size}`)
    await client.ok(append(`Header${size}`, `${header}\r\n\r\nSubject: body\r\n`))
    await client.ok(`SELECT Header${size}`)
    const get = async (section: string) => {
      const [answer] = await client.ok(`FETCH 1 BODY.PEEK[${section}]`)
      return answer?.replace(/^.*?\{\d+\}\r\n/, '').replace(/\)$/, '')
    }
    expect(await get('HEADER.FIELDS (subject)')).toBe('Subject: first\r\nSUBJECT : second\r\n\tfolded\r\n\r\n')
    const [part] = await client.ok('FETCH 1 BODY.PEEK[HEADER.FIELDS (subject)]<9.13>')
    expect(part).toContain('<9> {13}\r\nfirst\r\nSUBJEC)')
    const others = await get('HEADER.FIELDS.NOT (subject)')
    expect(others).toBe(`${[...lines, `X-Long: ${'z'.repeat(70_000)}`].join('\r\n')}\r\n\r\n`)
    const left = lines.map((_, at) => `X-Fill-${at}`).slice(1, 1500)
    const not = await get(`HEADER.FIELDS (${left.join(' ')})`)
    expect(not).toBe(`${lines.slice(1, 1500).join('\r\n')}\r\n\r\n`)
    client.close()
  })

  test('others are served while messages made to be costly are fetched', async () => {
    const client = await login('anna')
    await client.ok('CREATE Costly')
    const people = Array.from({ length: 4000 }, (_, at) => `"Person ${at}" <person${at}@example.net>`).join(',\r\n ')
    const parts = Array.from({ length: 900 }, (_, at) => `--b\r\nContent-Type: text/x${at}; name="n"\r\n\r\nx`)
    const costly = `From: a@b.c\r\nTo: ${people}\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${parts.join('\r\n')}\r\n--b--\r\n`
    for (let count = 0; count < 30; count++) await client.ok(append('Costly', costly))
    await client.ok('SELECT Costly')
    for (const items of [
      '(ENVELOPE BODYSTRUCTURE BODY)',
      '(BODY.PEEK[HEADER.FIELDS (TO)] BODY.PEEK[700] BODY.PEEK[701.MIME])',
    ]) {
      const { turns, lines } = await servedBefore(client, `FETCH 1:* ${items}`)
      expect(lines.filter(line => line.includes('FETCH'))).toHaveLength(30)
      // One would be possible before the first message is read, and one after the last.
      expect(turns).toBeGreaterThan(2)
    }
    client.close()
  })
})

describe('SORT and THREAD', () => {
  const entries: [subject: string, more: string][] = [
    ['Zed', 'Message-ID: <1@x>\r\nReferences: <2@x>\r\nDate: Sat, 21 Nov 2026 10:00:00 +0000'],
    ['Äpfel', 'Message-ID: <2@x>\r\nReferences: <1@x>\r\nDate: Sat, 21 Nov 2026 11:00:00 +0000'],
    ['[list] Re: apple', 'Message-ID: <3@x>\r\nDate: Sat, 21 Nov 2026 12:00:00 +0000'],
    ['Apple (fwd)', 'Message-ID: <3@x>\r\nDate: Sat, 21 Nov 2026 13:00:00 +0000'],
    ['zoo', 'Message-ID: <4@x>\r\nReferences: <3@x>\r\nDate: Sat, 21 Nov 2026 14:00:00 +0000'],
  ]

  beforeAll(async () => {
    const client = await login('anna')
    await client.ok('CREATE Sorted')
    const from = ['zoe <a@x>', '"Émile" <b@x>', 'c@x', '"Dora" <z@x>', 'Friends: e@x;']
    for (const [at, [subject, more]] of entries.entries()) {
      await client.ok(append('Sorted', `From: ${from[at]}\r\nTo: x@y\r\nSubject: ${subject}\r\n${more}\r\n\r\nx\r\n`))
    }
    client.close()
  })

  test('text sorts by i;unicode-casemap, what is shown of addresses by their names', async () => {
    const client = await login('anna', 'Sorted')
    const sort = async (keys: string) => (await client.ok(`SORT (${keys}) UTF-8 ALL`))[0]
    expect(await sort('SUBJECT')).toBe('* SORT 3 4 2 1 5')
    expect(await sort('REVERSE SUBJECT')).toBe('* SORT 5 1 2 3 4')
    expect(await sort('SUBJECT REVERSE DATE')).toBe('* SORT 4 3 2 1 5')
    expect(await sort('FROM')).toBe('* SORT 1 2 3 5 4')
    expect(await sort('DISPLAYFROM')).toBe('* SORT 3 4 2 5 1')
    expect(await sort('DISPLAYTO')).toBe('* SORT 1 2 3 4 5')
    expect((await client.ok('UID SORT RETURN (COUNT MIN) (SUBJECT) UTF-8 2:4'))[0]).toMatch(/ UID MIN 3 COUNT 3$/)
    expect(await client.ok('CAPABILITY')).toEqual([expect.stringContaining(' SORT=DISPLAY ')])
    client.close()
  })

  test('loops of references and repeated ids hide nothing', async () => {
    const client = await login('anna', 'Sorted')
    expect(await client.ok('THREAD REFERENCES UTF-8 ALL')).toEqual(['* THREAD (2 1)((3 5)(4))'])
    expect(await client.ok('UID THREAD ORDEREDSUBJECT UTF-8 ALL')).toEqual(['* THREAD (1)(2)(3 4)(5)'])
    client.close()
  })

  test('others are served while thousands of messages are sorted and threaded', async () => {
    const client = await login('anna')
    await client.ok('CREATE Many')
    for (let batch = 0; batch < 8; batch++) {
      const messages = Array.from({ length: 250 }, (_, at) => {
        const number = batch * 250 + at
        const text = `Subject: ${'s'.repeat(number % 50)} ${number}\r\nMessage-ID: <m${number}@x>\r\nReferences: <m${number - 1}@x>\r\n\r\nx`
        return Buffer.from(` {${text.length}+}\r\n${text}`)
      })
      await client.ok(Buffer.concat([Buffer.from('APPEND Many'), ...messages]))
    }
    await client.ok('SELECT Many')
    const sorted = await servedBefore(client, 'SORT (SUBJECT FROM DATE) UTF-8 ALL')
    expect(new Set(sorted.lines[0]?.split(' ').slice(2))).toHaveProperty('size', 2000)
    const threaded = await servedBefore(client, 'THREAD REFERENCES UTF-8 ALL')
    expect(threaded.lines[0]?.match(/\d+/g)).toHaveLength(2000)
    expect(sorted.turns + threaded.turns).toBeGreaterThan(5)
    client.close()
  })
})

test('eight searches of one account hold up neither a search of another nor a delivery to who encrypts', async () => {
  const keys = await openpgp().generateKey({ userIDs: [{ name: 'Key', email: 'key@example.com' }], format: 'armored' })
  const sealed = await service.user('sealed', { pubKey: keys.publicKey, encryptMessages: true })
  const client = await login('anna')
  await client.ok('CREATE Texts')
  const text = Array.from({ length: 5000 }, (_, at) => `line ${at} with nothing of interest in it, at length`).join(
    '\r\n',
  )
  for (let count = 0; count < 20; count++) await client.ok(append('Texts', mail(`t${count}`, `${count} ${text}`)))
  const order: string[] = []
  const searches = Array.from({ length: 8 }, async (_, at) => {
    const one = await login('anna', 'Texts')
    await one.ok(`SEARCH OR BODY "q${at}" BODY "ö${at}"`)
    order.push('eight')
    one.close()
  })
  await new Promise(resolve => setTimeout(resolve, 100))
  const bert = await login('bert')
  await bert.ok(append('INBOX', mail('hay', 'a needle in it')))
  await bert.ok('SELECT INBOX')
  const other = bert.ok('SEARCH BODY needle').then(lines => {
    expect(lines).toEqual(['* SEARCH 1'])
    order.push('search')
  })
  const delivery = service
    .call('POST', `/users/${sealed}/submit`, {
      to: [{ address: 'sealed@example.com' }],
      subject: 'to be encrypted',
      text: 'secret',
    })
    .then(({ body }) => {
      expect(body).toMatchObject({ success: true })
      order.push('delivery')
    })
  await Promise.all([...searches, other, delivery])
  expect(order.filter((one, at) => one !== 'eight' && at < 7)).toHaveLength(2)
  bert.close()
  client.close()
})

describe('a folder of more messages than one command takes', () => {
  const { messagesMax } = limits.actor
  beforeAll(() => void Object.assign(limits.actor, { messagesMax: 5500 }))
  afterAll(() => void Object.assign(limits.actor, { messagesMax }))

  /** Six messages, doubled ten times. */
  async function filled(user: string, mailbox: string): Promise<Client> {
    const client = await login(user)
    if (mailbox !== 'INBOX') await client.ok(`CREATE ${mailbox}`)
    for (let at = 0; at < 6; at++) await client.ok(append(mailbox, mail(`${at}`)))
    await client.ok(`SELECT ${mailbox}`)
    for (let round = 0; round < 10; round++) await client.ok(`COPY 1:* ${mailbox}`)
    return client
  }
  const count = async (client: Client, mailbox: string) => {
    const [line] = await client.ok(`STATUS ${mailbox} (MESSAGES)`)
    return Number(/MESSAGES (\d+)/.exec(line ?? '')?.[1])
  }

  test('is deleted', async () => {
    const client = await filled('anna', 'Huge')
    expect(await count(client, 'Huge')).toBe(6144)
    await client.ok('DELETE Huge')
    expect(await client.ok('LIST "" Huge')).toEqual([])
    client.close()
  })

  test('is moved by RENAME INBOX', async () => {
    await service.user('cora')
    const client = await filled('cora', 'INBOX')
    await client.ok('UID STORE 17 FLAGS.SILENT (\\Flagged)')
    await client.ok('RENAME INBOX Old')
    expect([await count(client, 'INBOX'), await count(client, 'Old')]).toEqual([0, 6144])
    await client.ok('SELECT Old')
    expect(await client.ok('UID SEARCH FLAGGED')).toEqual(['* SEARCH 17'])
    client.close()
  })
})
