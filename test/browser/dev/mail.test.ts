// The page of `teal dev`: mails appear by themselves, are read, searched and deleted, and hostile ones do nothing.

import { expect, test } from 'vitest'
import { look, shoot } from '../page/page.ts'
import { useDevPage } from './window.ts'

const on = useDevPage()
const { send, subjects } = on

test('mails appear as they arrive, and are read, searched and deleted by keyboard', async () => {
  await on.page.getByText('Nothing has arrived yet.').waitFor()
  await send({ subject: 'First', text: 'Hello first' })
  await on.page.locator('#list li', { hasText: 'First' }).waitFor()
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
  await on.page.locator('#list li', { hasText: 'Welcome to it' }).waitFor()
  expect(await subjects()).toEqual(['Welcome to it', 'First'])
  await on.page.keyboard.press('j')
  const frame = on.page.frameLocator('iframe')
  await frame.getByText('Your code is').waitFor()
  expect(
    await frame.locator('img').evaluate(image => (image as unknown as { naturalWidth: number }).naturalWidth),
  ).toBe(1)
  expect(await on.page.locator('dd .code').textContent()).toBe('482913')
  await shoot(on.page, 'dev-mail')
  for (const [key, wanted] of [
    ['2', 'Your code is 482913'],
    ['3', 'Content-Type: multipart/mixed'],
    ['4', 'message-id'],
    ['5', 'https://example.com/verify'],
    ['6', 'Bill.pdf'],
    ['7', 'not proven'],
  ] as const) {
    await on.page.keyboard.press(key)
    await on.page.locator('#panel').getByText(wanted).first().waitFor()
  }
  await on.page.keyboard.press('k')
  await on.page.keyboard.press('j')
  await on.page.locator('#mail h2', { hasText: 'First' }).waitFor()
  await on.page.keyboard.press('/')
  await on.page.keyboard.type('welcome')
  await on.page.locator('#list li', { hasText: 'First' }).waitFor({ state: 'detached' })
  await on.page.keyboard.press('Escape')
  await on.page.locator('#list li', { hasText: 'First' }).waitFor()
  await on.page.keyboard.press('d')
  await on.page.locator('#list li', { hasText: 'First' }).waitFor({ state: 'detached' })
  await on.page.keyboard.press('Shift+D')
  const question = on.page.getByRole('dialog', { name: 'Delete the mail?' })
  await question.waitFor()
  await on.page.keyboard.press('Escape')
  await question.waitFor({ state: 'detached' })
  expect(await subjects()).toEqual(['Welcome to it'])
  await on.page.keyboard.press('Shift+D')
  await question.waitFor()
  await look(on.page)
  // Another press of the same keys is no answer.
  await on.page.keyboard.press('Shift+D')
  await question.getByRole('button', { name: 'Delete' }).focus()
  await on.page.keyboard.press('Enter')
  await on.page.getByText('Nothing has arrived yet.').waitFor()
})

test('a hostile mail runs nothing, fetches nothing and leads nowhere', async () => {
  const evil = on.elsewhere
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
  await on.page.locator('#list li').first().click()
  const frame = on.page.frameLocator('iframe')
  await frame.getByText('Hostile').waitFor()
  for (const id of ['a', 'top', 'here', 'go']) await frame.locator(`#${id}`).click()
  await on.page.locator('#mail h2').click()
  for (const key of ['2', '3', '4', '5', '6', '7', '1']) await on.page.keyboard.press(key)
  await frame.getByText('Hostile').waitFor()
  await on.page.waitForTimeout(500)
  expect(await on.page.title()).toBe('Mail (1)')
  expect(await subjects()).toEqual([nasty])
  expect(on.page.url()).toBe(`${on.dev.url}/`)
})

test('the attachment of a mail is a download, and opened by its address does nothing', async () => {
  await send({
    subject: 'File',
    text: 'x',
    attachments: [{ filename: 'a.html', content: '<script>alert(1)</script>', contentType: 'text/html' }],
  })
  const { attachments, id } = (await (await fetch(`${on.dev.url}/dev/v1/mails/latest`)).json()) as {
    id: string
    attachments: [{ url: string }]
  }
  const part = `/api/v1/message/${id}/part/1`
  for (const path of [attachments[0].url, part]) {
    const answer = await fetch(on.dev.url + path)
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment/)
    expect(answer.headers.get('content-security-policy')).toContain('sandbox')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  }
})

test('in the dark it is dark', async () => {
  await on.page.emulateMedia({ colorScheme: 'dark' })
  const color = await on.page
    .locator('body')
    .evaluate(
      body =>
        (globalThis as unknown as { getComputedStyle(of: unknown): { backgroundColor: string } }).getComputedStyle(body)
          .backgroundColor,
    )
  expect(color).toBe('rgb(13, 20, 19)')
})
