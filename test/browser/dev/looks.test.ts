// The page of `teal dev`: failures, checks, links, tags, previews, other languages, and a mail that is sent on.

import { expect, test } from 'vitest'
import { startDev } from '#dev/dev.ts'
import { deliver, writeDraft } from '#testing/sending.ts'
import { look, shoot } from '../page/page.ts'
import { useDevPage } from './window.ts'

const on = useDevPage()
const { send } = on

test('what goes wrong for an application is set and taken away on the page, with the keyboard', async () => {
  await on.page.keyboard.press('f')
  await on.page.getByRole('dialog', { name: 'Failures' }).waitFor()
  await on.page.getByLabel('Recipient').fill('anna@example.com')
  await on.page.getByLabel('Times').fill('1')
  await on.page.getByRole('button', { name: 'Add' }).press('Enter')
  await on.page.getByText('reply 451 4.3.0 Later', { exact: false }).waitFor()
  await look(on.page)
  await expect(send({ subject: 'Refused', text: 'x' })).rejects.toThrow('451')
  await send({ subject: 'Taken', text: 'x' })
  await on.page.getByRole('button', { name: 'Close' }).click()
  await on.page.keyboard.press('f')
  await on.page.getByText(': 1 time', { exact: false }).waitFor()
  await on.page.getByLabel('What').selectOption('drop')
  await on.page.getByLabel('Answer').waitFor({ state: 'detached' })
  await on.page.getByLabel('What').selectOption('reply')
  await on.page.getByLabel('Answer').fill('later')
  await on.page.getByRole('button', { name: 'Add' }).click()
  await on.page.getByRole('alert').getByText("not 'later'", { exact: false }).waitFor()
  on.expectStatus(400)
  await on.page.getByRole('button', { name: 'Take away rule', exact: false }).click()
  await on.page.getByRole('button', { name: 'Take away rule', exact: false }).waitFor({ state: 'detached' })
  await on.page.keyboard.press('Escape')
  await on.page.getByRole('button', { name: 'Failures', exact: true }).waitFor()
})

test('keys that are pressed before a mail is here count for it, and nothing of another is shown meanwhile', async () => {
  await send({ subject: 'Older', text: 'What the older says' })
  await send({ subject: 'Newer', html: '<p>Newer</p><script>1</script>' })
  await on.page.locator('#list li', { hasText: 'Newer' }).waitFor()
  const held = Promise.withResolvers<void>()
  await on.page.route(/\/dev\/v1\/mails\/[^/]+$/, async route => {
    await held.promise
    await route.continue()
  })
  await on.page.keyboard.press('j')
  await on.page.keyboard.press('7')
  held.resolve()
  await on.page.getByText('mind: script: taken out').waitFor()
  await on.page.unroute(/\/dev\/v1\/mails\/[^/]+$/)
  const second = Promise.withResolvers<void>()
  await on.page.route(/\/dev\/v1\/mails\/[^/]+$/, async route => {
    await second.promise
    await route.continue()
  })
  await on.page.keyboard.press('j')
  await on.page.keyboard.press('2')
  await on.page.locator('#list li.chosen', { hasText: 'Older' }).waitFor()
  expect(await on.page.locator('#mail').textContent()).toBe('')
  second.resolve()
  await on.page.locator('#panel', { hasText: 'What the older says' }).waitFor()
})

test('a mail is looked through, its links are tried, and the page is fit for everybody', async () => {
  const html = `<p>Hello there</p><script>1</script><a href="${on.dev.url}/">home</a> <a href="${on.dev.url}/nothing">nothing</a>`
  await send({ subject: 'Checked', html })
  await on.page.locator('#list li', { hasText: 'Checked' }).waitFor()
  await on.page.keyboard.press('j')
  await on.page.keyboard.press('7')
  await on.page.getByText('mind: script: taken out').waitFor()
  await look(on.page)
  await on.page.keyboard.press('5')
  await on.page.getByRole('button', { name: 'Try the links' }).press('Enter')
  await on.page.getByText('1 of 2 do not answer as they should').waitFor()
  await look(on.page)
})

test('what mail programs do not show and what filters hold against a mail stand beside it', async () => {
  await send({ subject: 'GREAT NEWS!!', html: '<style>a:hover{color:red}</style><video></video><p>Act now</p>' })
  const line = on.page.locator('#list li', { hasText: 'GREAT NEWS!!' })
  await line.getByText(/^Spam \d/).waitFor()
  await line.click()
  await on.page.keyboard.press('8')
  const programs = on.page.getByRole('table', { name: 'Mail programs' })
  const video = programs.getByRole('row').filter({ hasText: '<video>' })
  await video.getByText('Not shown by').waitFor()
  expect(await video.textContent()).toContain('Gmail, web')
  await on.page.getByRole('list', { name: 'Programs' }).getByText('Outlook, Windows: 2 not').waitFor()
  await look(on.page)
  await shoot(on.page, 'dev-programs')
  await on.page.keyboard.press('9')
  await on.page.getByRole('row').filter({ hasText: 'Subject that shouts' }).getByText('+1').waitFor()
  await on.page.getByText('from 5 on it is likely to land in Junk').waitFor()
  await look(on.page)
  await shoot(on.page, 'dev-spam')
})

test('mails are tagged, found by their tags and in their bodies, ticked and deleted together', async () => {
  await send({ subject: 'First', text: 'about gardens', headers: { 'X-Tags': 'green' } })
  await send({ subject: 'Second', text: 'about houses' }, 'anna+blue@example.com')
  await on.page.locator('#list li', { hasText: 'Second' }).click()
  await on.page.locator('#mail').getByLabel('Tags').fill('blue, seen by me')
  await on.page.locator('#mail').getByRole('button', { name: 'Save' }).click()
  await on.page.getByRole('button', { name: 'seen by me 1' }).click()
  await on.page.locator('#list li', { hasText: 'First' }).waitFor({ state: 'detached' })
  await on.page.getByRole('searchbox').fill('gardens -tag:blue')
  await on.page.locator('#list li', { hasText: 'First' }).waitFor()
  await on.page.getByText('1 of 2').waitFor()
  await look(on.page)
  await on.page.getByRole('searchbox').fill('')
  await on.page.getByRole('checkbox', { name: 'Tick “First”' }).check()
  await on.page.getByRole('checkbox', { name: 'Tick “Second”' }).check()
  await look(on.page)
  await on.page.getByRole('group', { name: '2 ticked' }).getByRole('button', { name: 'Mark as unread' }).click()
  await on.page.getByText('2 mails, 2 unread').waitFor()
  await on.page.getByRole('button', { name: 'Mark all as read' }).click()
  await on.page.getByText('2 mails, 0 unread').waitFor()
  await on.page.getByRole('button', { name: 'Mark all as read' }).waitFor({ state: 'detached' })
  await on.page.getByRole('checkbox', { name: 'Tick “First”' }).check()
  await on.page.getByRole('group', { name: '1 ticked' }).getByRole('button', { name: 'Delete' }).click()
  await on.page.getByText('1 mail, 0 unread').waitFor()
  await on.page.getByRole('searchbox').fill('about')
  await on.page.getByRole('button', { name: 'Delete the one found' }).click()
  await on.page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await on.page.getByText('Nothing has arrived yet.').waitFor()
})

test('a mail is shown as wide as a telephone, and its attachments without being opened', async () => {
  const picture = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
    'base64',
  )
  const attachments = [
    { filename: 'a.png', content: picture, contentType: 'image/png' },
    { filename: 'a.csv', content: 'one,two', contentType: 'text/csv' },
  ]
  await send({ subject: 'Seen', html: '<p>Wide</p>', attachments })
  await on.page.locator('#list li', { hasText: 'Seen' }).click()
  await on.page.getByRole('button', { name: 'Telephone' }).click()
  expect((await on.page.locator('iframe').boundingBox())?.width).toBe(375)
  await on.page.getByRole('tab', { name: 'Attachments (2)' }).click()
  await expect
    .poll(() => on.page.getByRole('img', { name: 'a.png' }).evaluate(image => image.clientWidth))
    .toBeGreaterThan(0)
  await on.page.getByRole('button', { name: 'Show' }).click()
  await on.page.getByText('one,two').waitFor()
  await look(on.page)
  await shoot(on.page, 'dev-attachments')
})

test.each([
  ['de', 'ltr', 'Noch ist nichts angekommen.', 'Störungen', 'Prüfungen'],
  ['ar', 'rtl', 'لم يصل شيء بعد.', 'الأعطال', 'الفحوص'],
])('the page speaks %s and reads %s', async (locale, direction, nothing, failures, checks) => {
  const context = await on.browser.newContext({ locale, viewport: { width: 1280, height: 800 } })
  const other = await context.newPage()
  on.watch(other)
  await other.goto(on.dev.url)
  await other.getByText(nothing).waitFor()
  expect(await other.locator('html').getAttribute('dir')).toBe(direction)
  await send({
    from: 'App <app@example.com>',
    subject: 'Welcome',
    html: '<p>Your code is 482913</p>',
    text: 'Your code is 482913',
  })
  await other.locator('#list li', { hasText: 'Welcome' }).click()
  await other.getByRole('tab', { name: checks }).click()
  await other.getByRole('row', { name: 'Message-ID' }).waitFor()
  await look(other)
  await shoot(other, `dev-checks-${locale}`)
  await other.getByRole('button', { name: failures }).click()
  await other.getByRole('dialog', { name: failures }).waitFor()
  await look(other)
  await shoot(other, `dev-failures-${locale}`)
  await context.close()
})

test('a mail is released after a question, to whom it may go', async () => {
  const at = { host: '127.0.0.1', port: on.dev.ports.smtp ?? 0 }
  const release = { url: `smtp://${at.host}:${at.port}`, to: ['example.com'] }
  const other = await startDev({ ports: { smtp: 0, http: 0, imap: 0, pop3: 0 }, release })
  const context = await on.browser.newContext()
  try {
    const draft = await writeDraft({ to: 'anna@example.com', subject: 'Onward', text: 'x' })
    await deliver({ ...at, port: other.ports.smtp ?? 0 }, { from: 'app@example.com', to: ['anna@example.com'] }, draft)
    const second = await context.newPage()
    await second.goto(other.url)
    await second.locator('#list li', { hasText: 'Onward' }).click()
    await second.getByRole('button', { name: 'Release' }).click()
    const dialog = second.getByRole('dialog', { name: 'Send this mail on?' })
    await dialog.getByText('example.com', { exact: true }).waitFor()
    await look(second)
    await dialog.getByLabel('To').fill('anna@elsewhere.example')
    await dialog.getByRole('button', { name: 'Release' }).click()
    await dialog.getByRole('alert').getByText('anna@elsewhere.example', { exact: false }).waitFor()
    await dialog.getByLabel('To').fill('ben@example.com')
    await dialog.getByRole('button', { name: 'Release' }).click()
    await second.getByText('The server took it.').waitFor()
    await on.page.locator('#list li', { hasText: 'ben@example.com' }).waitFor()
  } finally {
    await context.close()
    await other.close()
  }
})

test('keys and the language of the search are explained in front of the page, and a mail is marked as unread by key', async () => {
  await send({ subject: 'First', text: 'x' })
  await send({ subject: 'Second', text: 'x' })
  await on.page.getByText('2 mails, 2 unread').waitFor()
  await on.page.keyboard.press('j')
  await on.page.getByText('2 mails, 1 unread').waitFor()
  await on.page.keyboard.press('u')
  await on.page.getByText('2 mails, 2 unread').waitFor()
  await on.page.getByRole('button', { name: 'Mark as read', exact: true }).waitFor()
  await on.page.keyboard.press('u')
  await on.page.getByText('2 mails, 1 unread').waitFor()
  await on.page.keyboard.press('?')
  const help = on.page.getByRole('dialog', { name: 'Keys and search' })
  await help.getByRole('row', { name: 'has:attachment' }).waitFor()
  await look(on.page)
  await shoot(on.page, 'dev-help')
  // Keys are for the dialog now.
  await on.page.keyboard.press('d')
  await on.page.keyboard.press('Escape')
  await help.waitFor({ state: 'detached' })
  await on.page.getByText('2 mails, 1 unread').waitFor()
})

test('new mail is told on the desktop where that is wanted, while something else is looked at', async () => {
  // The shell of the browser tells nothing on the desktop.
  await on.page.addInitScript(`
    globalThis.told = []
    globalThis.Notification = class {
      static permission = 'granted'
      static requestPermission = async () => 'granted'
      constructor(title, { body }) { told.push(title + ': ' + body) }
      close() {}
    }
  `)
  await on.page.reload()
  await on.page.getByRole('button', { name: 'Preferences' }).click()
  await on.page.getByLabel('Tell of new mail on the desktop').check()
  await look(on.page)
  await on.page.keyboard.press('Escape')
  await on.page.evaluate('document.hasFocus = () => true')
  await send({ subject: 'Seen anyway', text: 'x' })
  await on.page.locator('#list li', { hasText: 'Seen anyway' }).waitFor()
  await on.page.evaluate('document.hasFocus = () => false')
  await send({ subject: 'While away', text: 'x' })
  await expect.poll(() => on.page.evaluate('told')).toEqual(['While away: app@example.com → anna@example.com'])
})
