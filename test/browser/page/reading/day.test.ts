// More of the work of a day, in a real browser: answers to all, mail sent on with its files and sent later, junk that teaches, letters by
// keys alone and on a phone, and what other programs say of contacts.

import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { type Account, account, mail } from '../../../http/api/mail-world.ts'
import { look, shoot, usePage } from '../page.ts'

const pages = usePage()
const { service } = pages

const writer = (page: Page) => page.locator('.mail-writer')
const field = (page: Page, label: string) => writer(page).getByLabel(label, { exact: true })
const row = (page: Page, subject: string) => page.locator('.mail-row', { hasText: subject })

async function sent(user: Account) {
  const { body } = await user.call('GET', `/mailboxes/${user.box('Sent Mail')}/messages`)
  const [first] = body.results
  return first === undefined
    ? undefined
    : (await user.call('GET', `/mailboxes/${first.mailbox}/messages/${first.id}`)).body
}

async function submit(page: Page): Promise<void> {
  await writer(page).getByRole('button', { name: 'Send', exact: true }).click()
  await writer(page).waitFor({ state: 'detached' })
}

const people = (found: readonly { address: string }[] = []) => found.map(one => one.address).toSorted()

test('everybody is answered but oneself, and a message is sent on with its files', async () => {
  const user = await account(service, 'social')
  const id = await user.put(
    'INBOX',
    mail('Party', 'who brings what?', {
      to: [
        { name: '', address: 'social@example.com' },
        { name: 'Bo', address: 'bo@example.net' },
      ],
      cc: [{ name: 'Cy', address: 'cy@example.net' }],
      attachments: ['list.txt', 'secret.txt'].map(filename => ({
        filename,
        contentType: 'text/plain',
        content: 'bGlzdA==',
      })),
    }),
  )
  const page = await pages.visit(`/app/mail/${user.box('INBOX')}?m=${id}`, { as: 'social' })
  await page.getByRole('button', { name: 'Reply to all', exact: true }).click()
  await writer(page).waitFor()
  await page.keyboard.type('Salad')
  await submit(page)
  const answer = await sent(user)
  expect(answer.subject).toBe('Re: Party')
  expect(people([...answer.to, ...(answer.cc ?? [])])).toEqual([
    'bo@example.net',
    'cy@example.net',
    'sender@example.net',
  ])
  expect(answer.attachments).toEqual([])
  await page.getByRole('button', { name: 'Forward', exact: true }).click()
  await writer(page).getByText('list.txt').waitFor()
  await writer(page).getByRole('button', { name: 'Remove secret.txt' }).click()
  await field(page, 'To').fill('dee@example.net')
  await submit(page)
  const onward = await sent(user)
  expect(onward.subject).toMatch(/^Fwd?: Party$/)
  expect(onward.text).toContain('who brings what?')
  expect(onward.attachments).toMatchObject([{ filename: 'list.txt' }])
  const { body } = await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages/${id}`)
  expect([body.answered, body.forwarded]).toEqual([true, true])
})

test('a letter waits for its time, and is called off again', async () => {
  const user = await account(service, 'planner')
  const page = await pages.visit('/app/mail', { as: 'planner' })
  await page.getByRole('button', { name: 'New message' }).click()
  await field(page, 'To').fill('a@example.net')
  await field(page, 'Subject').fill('In a week')
  await writer(page).getByRole('button', { name: 'Choose when to send' }).click()
  const at = `${new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 10)}T09:30`
  await field(page, 'When it is to go').fill(at)
  await look(page)
  await shoot(page, 'writer-later')
  await writer(page).locator('footer .primary').click()
  await page.getByText(/^Will be sent/).waitFor()
  const waiting = async () => (await user.call('GET', '/outbound')).body.results
  const [one] = await waiting()
  const { body } = await user.call('GET', `/outbound/${one.queueId}`)
  expect(JSON.stringify(body.targets)).toContain(new Date(at).toISOString())
  await page.getByRole('button', { name: 'Take back' }).click()
  await writer(page).waitFor()
  expect(await field(page, 'Subject').inputValue()).toBe('In a week')
  expect(await waiting()).toEqual([])
})

test('what is called junk, and what is not, teaches the filter', async () => {
  const user = await account(service, 'teacher')
  await user.put('INBOX', mail('Buy now', 'cheap'))
  await user.put('Junk', mail('Minutes of today', 'as agreed'))
  const taught = async () => {
    const [count] = await service.teal.core.read.all<{ n: number }>('SELECT count(*) AS n FROM spam_mark')
    return count?.n
  }
  const page = await pages.visit('/app/mail', { as: 'teacher' })
  await row(page, 'Buy now').getByRole('link').click()
  await page.locator('.mail-actions').getByRole('button', { name: 'Junk', exact: true }).click()
  await page.getByText('1 moved to Junk').waitFor()
  await page.getByRole('link', { name: /^Junk/ }).click()
  await row(page, 'Minutes of today').getByRole('link').click()
  await page.locator('.mail-actions').getByRole('button', { name: 'Not junk' }).click()
  await page.getByText('1 moved to Inbox').waitFor()
  await expect.poll(taught).toBe(2)
})

test('a letter is written, sent and taken back by keys alone', async () => {
  const user = await account(service, 'keyboard')
  await user.put('INBOX', mail('Question', 'yes or no?'))
  const page = await pages.visit('/app/mail', { as: 'keyboard' })
  await row(page, 'Question').waitFor()
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  await press('Enter')
  await page.frameLocator('.mail-html').getByText('yes or no?').waitFor()
  const writes = () =>
    expect.poll(() => page.evaluate('document.activeElement?.getAttribute("aria-label")')).toBe('What you write')
  await press('r')
  await writer(page).waitFor()
  await writes()
  await page.keyboard.type('Yes.')
  await press('Control+Enter')
  await writer(page).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Take back' }).waitFor()
  await press('z')
  await writer(page).waitFor()
  await writes()
  await press('Escape')
  await writer(page).waitFor({ state: 'detached' })
  await press('c')
  await page.keyboard.type('new@example.net')
  await press('Tab')
  await expect.poll(() => page.evaluate('document.activeElement?.tagName')).not.toBe('BODY')
  await field(page, 'Subject').focus()
  await page.keyboard.type('By keys')
  await press('Tab')
  await page.keyboard.type('no hand left the keys')
  await writer(page).getByText('Draft saved').waitFor()
  await press('Escape')
  await writer(page).waitFor({ state: 'detached' })
  const { body } = await user.call('GET', `/mailboxes/${user.box('Drafts')}/messages`)
  expect(body.results.map((one: { subject: string }) => one.subject)).toContain('By keys')
})

test('on a phone a letter is read, answered and sent', async () => {
  const user = await account(service, 'pocket')
  await user.put('INBOX', mail('On the way', 'when are you here?'))
  const page = await pages.visit('/app/mail', { as: 'pocket', width: 380 })
  await row(page, 'On the way').getByRole('link').click()
  await page.getByRole('button', { name: 'Reply', exact: true }).click()
  await writer(page).waitFor()
  await shoot(page, 'phone-answer')
  await look(page)
  const box = await writer(page).boundingBox()
  expect(box?.width).toBe(380)
  await page.keyboard.type('At ten')
  await submit(page)
  expect((await sent(user)).text).toMatch(/^At ten/)
})

const old = [
  'BEGIN:VCARD',
  'VERSION:2.1',
  'N;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:M=FCller;J=FCrgen',
  'FN;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:J=FCrgen =',
  'M=FCller',
  'TEL;WORK;VOICE:+49 30 1234',
  'EMAIL;PREF;INTERNET:juergen@example.de',
  'NOTE;ENCODING=QUOTED-PRINTABLE:first line=0D=0Asecond',
  'END:VCARD',
  '',
].join('\r\n')
const apple = [
  'BEGIN:VCARD',
  'VERSION:3.0',
  'PRODID:-//Apple Inc.//macOS 14.0//EN',
  'N:Fischer;Zoë;;;',
  'FN:Zoë Fischer',
  'item1.EMAIL;type=INTERNET;type=pref:zoe@example.org',
  'item1.X-ABLabel:_$!<Other>!$_',
  'item2.EMAIL;type=INTERNET:zoe@work.example.org',
  'item2.X-ABLabel:Atelier',
  'TEL;type=CELL;type=VOICE;type=pref:+41 79 000 00 00',
  'X-ABUID:1234:ABPerson',
  'PHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgk',
  ' JCQoMDwwKCw4LCQkNEQ0ODxAQERAKDBITEhATDxAQEP/9k=',
  'END:VCARD',
  '',
].join('\r\n')

test('contacts come from an old telephone and from a Mac, and go along again', async () => {
  const user = await account(service, 'mover')
  const page = await pages.visit('/app/contacts', { as: 'mover' })
  await page.getByRole('button', { name: 'vCard files' }).click()
  const bring = page.getByLabel('Bring contacts from a file')
  await bring.setInputFiles({ name: '1998.vcf', mimeType: 'text/x-vcard', buffer: Buffer.from(old, 'latin1') })
  await page.locator('.contact', { hasText: 'Jürgen Müller' }).waitFor()
  if ((await bring.count()) === 0) await page.getByRole('button', { name: 'vCard files' }).click()
  await bring.setInputFiles({ name: 'mac.vcf', mimeType: 'text/vcard', buffer: Buffer.from(apple) })
  await page.locator('.contact', { hasText: 'Zoë Fischer' }).waitFor()
  if ((await bring.count()) === 0) await page.getByRole('button', { name: 'vCard files' }).click()
  const { body } = await user.call('GET', '/contacts')
  expect(body.results).toMatchObject([
    { name: 'Jürgen Müller', emails: [{ value: 'juergen@example.de' }] },
    { name: 'Zoë Fischer', emails: [{ value: 'zoe@example.org' }, { value: 'zoe@work.example.org' }] },
  ])
  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download all contacts' }).click()
  const text = readFileSync(await (await download).path(), 'utf8')
  for (const part of ['VERSION:4.0', 'Jürgen Müller', 'zoe@work.example.org', 'Zoë Fischer'])
    expect(text).toContain(part)
})
