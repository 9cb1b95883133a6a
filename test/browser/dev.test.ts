// The page of `teal dev` in a real browser: mails appear by themselves, hostile ones do nothing, and nobody else is asked for
// anything.
//
// A violation of the policy by the page itself, an error in the console, a request to another host or a dialog fails it.

import { createServer, type Server } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Dev, startDev } from '#dev/dev.ts'
import { deliver, writeDraft } from '#testing/sending.ts'
import { startChromium } from './chromium.ts'
import { look, shoot } from './page/page.ts'

let browser: Browser
let dev: Dev
let page: Page
let elsewhere: Server
/** What the page did that it must not. */
let wrong: string[]
/** Connections to the server that hostile mails name. */
let reached = 0

beforeAll(async () => {
  elsewhere = createServer(socket => {
    reached += 1
    socket.destroy()
  }).listen(0, '127.0.0.1')
  dev = await startDev({ ports: { smtp: 0, http: 0, imap: 0, pop3: 0 } })
  browser = await startChromium()
})
afterAll(async () => {
  await browser?.close()
  elsewhere.close()
  await dev?.close()
})

beforeEach(async () => {
  wrong = []
  page = await (await browser.newContext({ viewport: { width: 1200, height: 760 } })).newPage()
  page.on('console', message => {
    // That is what keeps the frame of a mail from doing what it tries.
    const inFrame = message.location().url.includes('/html')
    if (['error', 'warning'].includes(message.type()) && !inFrame) wrong.push(`console: ${message.text()}`)
  })
  page.on('pageerror', error => wrong.push(`error: ${error.message}`))
  page.on('dialog', dialog => {
    wrong.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', request => {
    if (!/^(data:|about:|cid:)/.test(request.url()) && !request.url().startsWith(`${dev.url}/`))
      wrong.push(`request: ${request.url()}`)
  })
  // What its policy keeps from leaving was still asked for by the mail.
  page.on('requestfailed', request => {
    if (request.failure()?.errorText === 'csp') wrong = wrong.filter(one => one !== `request: ${request.url()}`)
  })
  page.on('popup', () => wrong.push('popup'))
  await page.goto(dev.url)
  await page.locator('#live.on').waitFor()
})
afterEach(async () => {
  expect(wrong).toEqual([])
  expect(reached).toBe(0)
  expect(await dev.host.teal.check()).toEqual([])
  await page.context().close()
  await fetch(`${dev.url}/dev/v1/mails`, { method: 'DELETE' })
})

async function send(draft: object, to = 'anna@example.com'): Promise<void> {
  const at = { host: '127.0.0.1', port: dev.ports.smtp ?? 0 }
  await deliver(at, { from: 'app@example.com', to: [to] }, await writeDraft({ to, ...draft }))
}

const subjects = () => page.locator('#list .subject').allTextContents()

test('mails appear as they arrive, and are read, searched and deleted by keyboard', async () => {
  await page.getByText('Nothing has arrived yet.').waitFor()
  await send({ subject: 'First', text: 'Hello first' })
  await page.locator('#list li', { hasText: 'First' }).waitFor()
  const html =
    '<h1>Welcome</h1><p>Your code is <b>482913</b>. <a href="https://example.com/verify">Verify</a></p><img src="cid:logo" alt="">'
  const picture = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
    'base64',
  )
  const attachments = [
    { filename: 'Bill.pdf', content: 'PDF', contentType: 'application/pdf' },
    { filename: 'logo.png', content: picture, contentType: 'image/png', cid: 'logo' },
  ]
  await send({ from: 'App <app@example.com>', subject: 'Welcome to it', html, attachments })
  await page.locator('#list li', { hasText: 'Welcome to it' }).waitFor()
  expect(await subjects()).toEqual(['Welcome to it', 'First'])
  await page.keyboard.press('j')
  const frame = page.frameLocator('iframe')
  await frame.getByText('Your code is').waitFor()
  expect(
    await frame.locator('img').evaluate(image => (image as unknown as { naturalWidth: number }).naturalWidth),
  ).toBe(1)
  expect(await page.locator('dd .code').textContent()).toBe('482913')
  await shoot(page, 'dev-mail')
  for (const [key, wanted] of [
    ['2', 'Your code is 482913'],
    ['3', 'Content-Type: multipart/mixed'],
    ['4', 'message-id'],
    ['5', 'https://example.com/verify'],
    ['6', 'Bill.pdf'],
    ['7', 'not proven'],
  ] as const) {
    await page.keyboard.press(key)
    await page.locator('#panel').getByText(wanted).first().waitFor()
  }
  await page.keyboard.press('k')
  await page.keyboard.press('j')
  await page.locator('#mail h2', { hasText: 'First' }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('welcome')
  await page.locator('#list li', { hasText: 'First' }).waitFor({ state: 'detached' })
  await page.keyboard.press('Escape')
  await page.locator('#list li', { hasText: 'First' }).waitFor()
  await page.keyboard.press('d')
  await page.locator('#list li', { hasText: 'First' }).waitFor({ state: 'detached' })
  await page.keyboard.press('Shift+D')
  await page.getByText('Nothing has arrived yet.').waitFor()
})

test('a hostile mail runs nothing, fetches nothing and leads nowhere', async () => {
  const evil = `http://127.0.0.1:${(elsewhere.address() as { port: number }).port}`
  const html = `<!doctype html><html><head><base href="${evil}/">
    <meta http-equiv="refresh" content="0;url=${evil}/refresh"><link rel="stylesheet" href="${evil}/a.css">
    <link rel=preconnect href=${evil}><LINK title=">" rel="preload" as="image" href="${evil}/p"><link/rel="dns-prefetch"/href="${evil}">
    <style>@import url(${evil}/i.css); body { background: url(${evil}/b.png) } @font-face { font-family: x; src: url(${evil}/f) } p { font-family: x }</style>
    <script>top.document.title = 'owned'; alert(1)</script><script src="${evil}/s.js"></script></head>
    <body onload="alert(2)"><p>Hostile</p><img src="${evil}/x.png" onerror="alert(3)"><img srcset="${evil}/y.png 1x">
    <svg onload="alert(4)"><image href="${evil}/s.png"/><script>alert(5)</script></svg><video poster="${evil}/v"><source src="${evil}/v.mp4"></video>
    <iframe src="${evil}/frame"></iframe><object data="${evil}/o"></object><embed src="${evil}/e"><a id="a" href="javascript:alert(6)">a</a>
    <a id="top" target="_top" href="${evil}/top">top</a><a id="here" href="${evil}/here">here</a>
    <form action="${evil}/form"><input name="x"><button id="go">go</button></form><img src="cid:../../x"></body></html>`
  const nasty = '<img src=x onerror=alert(7)><script>alert(8)</script>'
  await send({
    from: `"${nasty.replaceAll('"', '')}" <app@example.com>`,
    subject: nasty,
    html,
    text: nasty,
    headers: { 'X-Nasty': nasty },
    attachments: [{ filename: `${nasty}.html`, content: nasty, contentType: 'text/html' }],
  })
  await page.locator('#list li').first().click()
  const frame = page.frameLocator('iframe')
  await frame.getByText('Hostile').waitFor()
  for (const id of ['a', 'top', 'here', 'go']) await frame.locator(`#${id}`).click()
  await page.locator('#mail h2').click()
  for (const key of ['2', '3', '4', '5', '6', '7', '1']) await page.keyboard.press(key)
  await frame.getByText('Hostile').waitFor()
  await page.waitForTimeout(500)
  expect(await page.title()).toBe('Mail (1)')
  expect(await subjects()).toEqual([nasty])
  expect(page.url()).toBe(`${dev.url}/`)
})

test('the attachment of a mail is a download, and opened by its address does nothing', async () => {
  await send({
    subject: 'File',
    text: 'x',
    attachments: [{ filename: 'a.html', content: '<script>alert(1)</script>', contentType: 'text/html' }],
  })
  const { attachments, id } = (await (await fetch(`${dev.url}/dev/v1/mails/latest`)).json()) as {
    id: string
    attachments: [{ url: string }]
  }
  const part = `/api/v1/message/${id}/part/1`
  for (const path of [attachments[0].url, part]) {
    const answer = await fetch(dev.url + path)
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment/)
    expect(answer.headers.get('content-security-policy')).toContain('sandbox')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  }
})

test('in the dark it is dark', async () => {
  await page.emulateMedia({ colorScheme: 'dark' })
  const color = await page
    .locator('body')
    .evaluate(
      body =>
        (globalThis as unknown as { getComputedStyle(of: unknown): { backgroundColor: string } }).getComputedStyle(body)
          .backgroundColor,
    )
  expect(color).toBe('rgb(13, 20, 19)')
})

test('what goes wrong for an application is set and taken away on the page, with the keyboard', async () => {
  await page.keyboard.press('f')
  await page.getByRole('dialog', { name: 'Failures' }).waitFor()
  await page.getByLabel('Recipient').fill('anna@example.com')
  await page.getByLabel('Times').fill('1')
  await page.getByRole('button', { name: 'Add' }).press('Enter')
  await page.getByText('reply 451 4.3.0 Later', { exact: false }).waitFor()
  await look(page)
  await expect(send({ subject: 'Refused', text: 'x' })).rejects.toThrow('451')
  await send({ subject: 'Taken', text: 'x' })
  await page.getByRole('button', { name: 'Close' }).click()
  await page.keyboard.press('f')
  await page.getByText(': 1 time', { exact: false }).waitFor()
  await page.getByLabel('What').selectOption('drop')
  await page.getByLabel('Answer').waitFor({ state: 'detached' })
  await page.getByLabel('What').selectOption('reply')
  await page.getByLabel('Answer').fill('later')
  await page.getByRole('button', { name: 'Add' }).click()
  await page.getByRole('alert').getByText("not 'later'", { exact: false }).waitFor()
  wrong = wrong.filter(one => !one.includes('400'))
  await page.getByRole('button', { name: 'Take away rule', exact: false }).click()
  await page.getByRole('button', { name: 'Take away rule', exact: false }).waitFor({ state: 'detached' })
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Failures', exact: true }).waitFor()
})

test('keys that are pressed before a mail is here count for it, and nothing of another is shown meanwhile', async () => {
  await send({ subject: 'Older', text: 'What the older says' })
  await send({ subject: 'Newer', html: '<p>Newer</p><script>1</script>' })
  await page.locator('#list li', { hasText: 'Newer' }).waitFor()
  const held = Promise.withResolvers<void>()
  await page.route(/\/dev\/v1\/mails\/[^/]+$/, async route => {
    await held.promise
    await route.continue()
  })
  await page.keyboard.press('j')
  await page.keyboard.press('7')
  held.resolve()
  await page.getByText('mind: script: taken out').waitFor()
  await page.unroute(/\/dev\/v1\/mails\/[^/]+$/)
  const second = Promise.withResolvers<void>()
  await page.route(/\/dev\/v1\/mails\/[^/]+$/, async route => {
    await second.promise
    await route.continue()
  })
  await page.keyboard.press('j')
  await page.keyboard.press('2')
  await page.locator('#list li.chosen', { hasText: 'Older' }).waitFor()
  expect(await page.locator('#mail').textContent()).toBe('')
  second.resolve()
  await page.locator('#panel', { hasText: 'What the older says' }).waitFor()
})

test('a mail is looked through, its links are tried, and the page is fit for everybody', async () => {
  const html = `<p>Hello there</p><script>1</script><a href="${dev.url}/">home</a> <a href="${dev.url}/nothing">nothing</a>`
  await send({ subject: 'Checked', html })
  await page.locator('#list li', { hasText: 'Checked' }).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('7')
  await page.getByText('mind: script: taken out').waitFor()
  await look(page)
  await page.keyboard.press('5')
  await page.getByRole('button', { name: 'Try the links' }).press('Enter')
  await page.getByText('1 of 2 do not answer as they should').waitFor()
  await look(page)
})

/** Many at once, over several connections. */
async function sendMany(count: number, subject: (number: number) => string): Promise<void> {
  const numbers = Array.from({ length: count }, (_, at) => at + 1)
  for (const number of numbers) await send({ subject: subject(number), text: `Body ${number}` })
}

test('of many mails those in view are there, and what is read stays in its place while more arrive', async () => {
  await sendMany(120, number => `Mail ${number}`)
  await page.getByText('120 mails, 120 unread').waitFor()
  expect(await page.locator('#list li').count()).toBeLessThan(40)
  const list = page.locator('#list')
  await list.evaluate(element => element.scrollTo(0, element.scrollHeight))
  await page.locator('#list .subject', { hasText: /^Mail 1$/ }).click()
  await page.locator('#mail h2', { hasText: /^Mail 1$/ }).waitFor()
  const placeOf = () => page.locator('#list li.chosen').boundingBox()
  const before = await placeOf()
  await send({ subject: 'One more', text: 'x' })
  await page.getByText('121 mails, 120 unread').waitFor()
  await page.waitForFunction('document.querySelector("#list").scrollTop > 0')
  await expect.poll(async () => (await placeOf())?.y).toBe(before?.y)
  await page.keyboard.press('k')
  await page.locator('#mail h2', { hasText: /^Mail 2$/ }).waitFor()
  await page.keyboard.press('d')
  await page.keyboard.press('d')
  await page.getByText('119 mails', { exact: false }).waitFor()
  await page.locator('#mail h2', { hasText: /^Mail 3$/ }).waitFor()
})

test('mails are tagged, found by their tags and in their bodies, ticked and deleted together', async () => {
  await send({ subject: 'First', text: 'about gardens', headers: { 'X-Tags': 'green' } })
  await send({ subject: 'Second', text: 'about houses' }, 'anna+blue@example.com')
  await page.locator('#list li', { hasText: 'Second' }).click()
  await page.locator('#mail').getByLabel('Tags').fill('blue, seen by me')
  await page.locator('#mail').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'seen by me 1' }).click()
  await page.locator('#list li', { hasText: 'First' }).waitFor({ state: 'detached' })
  await page.getByRole('searchbox').fill('gardens -tag:blue')
  await page.locator('#list li', { hasText: 'First' }).waitFor()
  await page.getByText('1 of 2').waitFor()
  await look(page)
  await page.getByRole('searchbox').fill('')
  await page.getByRole('checkbox', { name: 'Tick “First”' }).check()
  await page.getByRole('checkbox', { name: 'Tick “Second”' }).check()
  await look(page)
  await page.getByRole('group', { name: '2 ticked' }).getByRole('button', { name: 'Mark as unread' }).click()
  await page.getByText('2 mails, 2 unread').waitFor()
  await page.getByRole('checkbox', { name: 'Tick “First”' }).check()
  await page.getByRole('group', { name: '1 ticked' }).getByRole('button', { name: 'Delete' }).click()
  await page.getByText('1 mail, 1 unread').waitFor()
  await page.getByRole('searchbox').fill('about')
  await page.getByRole('button', { name: 'Delete the one found' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText('Nothing has arrived yet.').waitFor()
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
  await page.locator('#list li', { hasText: 'Seen' }).click()
  await page.getByRole('button', { name: 'Telephone' }).click()
  expect((await page.locator('iframe').boundingBox())?.width).toBe(375)
  await page.getByRole('tab', { name: 'Attachments (2)' }).click()
  await expect
    .poll(() => page.getByRole('img', { name: 'a.png' }).evaluate(image => image.clientWidth))
    .toBeGreaterThan(0)
  await page.getByRole('button', { name: 'Show' }).click()
  await page.getByText('one,two').waitFor()
  await look(page)
  await shoot(page, 'dev-attachments')
})

test.each([
  ['de', 'ltr', 'Noch ist nichts angekommen.', 'Störungen', 'Prüfungen'],
  ['ar', 'rtl', 'لم يصل شيء بعد.', 'الأعطال', 'الفحوص'],
])('the page speaks %s and reads %s', async (locale, direction, nothing, failures, checks) => {
  const context = await browser.newContext({ locale, viewport: { width: 1280, height: 800 } })
  const other = await context.newPage()
  other.on('pageerror', error => wrong.push(`error: ${error.message}`))
  await other.goto(dev.url)
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
  const at = { host: '127.0.0.1', port: dev.ports.smtp ?? 0 }
  const release = { url: `smtp://${at.host}:${at.port}`, to: ['example.com'] }
  const other = await startDev({ ports: { smtp: 0, http: 0, imap: 0, pop3: 0 }, release })
  const context = await browser.newContext()
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
    await page.locator('#list li', { hasText: 'ben@example.com' }).waitFor()
  } finally {
    await context.close()
    await other.close()
  }
})
