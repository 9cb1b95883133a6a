// Mail that wants to do something, opened in a real browser: nothing runs, nothing leaves, and the page stays of use.

import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { type Account, account } from '../../http/api/mail-world.ts'
import { pagesOf } from '../chromium.ts'
import { usePage } from './page.ts'
import { mutationVectors } from './reading/mutations.ts'
import { away, furtherVectors } from './reading/vectors.ts'

const pages = usePage({}, { hasWorker: true })
const { service } = pages
let victim: Account

/** Each says what it tries. What would run calls `ran`, what would leave asks `away`. */
const vectors: Readonly<Record<string, string>> = {
  script: `<script>top.ran=1</script><script src="${away}/s.js"></script>`,
  handlers: `<img src=x onerror="top.ran=1"><body onload="top.ran=1"><div onmouseover="top.ran=1" style="width:99vw;height:99vh">x</div>`,
  'script link': `<a href="javascript:top.ran=1">click</a><a href=" &#1;java&#10;script:top.ran=1">click</a><a href="data:text/html,<script>top.ran=1</script>">click</a>`,
  frames: `<iframe src="${away}/f"></iframe><iframe srcdoc="<script>top.ran=1</script>"></iframe><object data="${away}/o"></object><embed src="${away}/e">`,
  form: `<form action="${away}/form"><input name=p autofocus onfocus="top.ran=1"><button formaction="javascript:top.ran=1">go</button></form>`,
  meta: `<meta http-equiv="refresh" content="0;url=${away}/m"><base href="${away}/"><link rel=stylesheet href="${away}/l.css"><link rel=prefetch href="${away}/p"><link rel=dns-prefetch href="//dns.test">`,
  pictures: `<img src="${away}/i.png"><img srcset="${away}/set.png 1x"><picture><source srcset="${away}/src.png"><img src=x></picture><video poster="${away}/v.png" src="${away}/v"></video><audio src="${away}/a"></audio><table background="${away}/bg.png"><td>x</td></table><input type=image src="${away}/in.png">`,
  styles: `<style>@import url(${away}/im.css); @font-face{font-family:x;src:url(${away}/font)} *{background:url(${away}/st.png);font-family:x} p{background:\\75rl(${away}/esc.png)} a{background:url(  "${away}/q.png" )}</style><p style="background-image:url('${away}/in.png');list-style:u\\72l(${away}/e2.png)">x</p><div style="background:image-set('${away}/iset.png' 1x)">x</div>`,
  svg: `<svg><script>top.ran=1</script><image href="${away}/svg.png"/><use href="${away}/u.svg#x"/><animate onbegin="top.ran=1" attributeName=x dur=1s /><foreignObject><img src=x onerror="top.ran=1"></foreignObject></svg><svg/onload="top.ran=1">`,
  math: `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=top.ran=1&gt;"></table></mtext></math>`,
  'math link': `<math href="javascript:top.ran=1">x</math><math><maction actiontype="statusline#${away}" xlink:href="javascript:top.ran=1">x</maction></math>`,
  mutation: `<form><math><mtext></form><form><mglyph><style></math><img src onerror=top.ran=1></style></mglyph></form></mtext></math>`,
  'mutation of noscript': `<noscript><p title="</noscript><img src=x onerror=top.ran=1>"></noscript>`,
  'mutation of a comment': `<svg></p><style><a id="</style><img src=1 onerror=top.ran=1>"></svg><!--<img src="--><img src=x onerror=top.ran=1//">`,
  'mutation of a template': `<template><img src=x onerror=top.ran=1></template><select><template><img src=x onerror=top.ran=1></template></select>`,
  'mutation of a title': `<title><img src="</title><img src=x onerror=top.ran=1>"></title><textarea><img title="</textarea><img src onerror=top.ran=1>"></textarea><xmp><img title="</xmp><img src onerror=top.ran=1>">`,
  'mutation of cdata': `<svg><style><![CDATA[</style><img src=x onerror=top.ran=1>]]></style></svg><math><annotation-xml encoding="text/html"><style><img src onerror=top.ran=1></style></annotation-xml></math>`,
  clobbering: `<img name=body><img name=cookie><form id=document><input name=defaultView><input name=attributes></form><a id=location href="${away}">x</a><div id="own-0">x</div>`,
  custom: `<x-y onclick=top.ran=1>x</x-y><button popovertarget=p>x</button><div popover id=p ontoggle=top.ran=1>x</div><dialog open onclose=top.ran=1>x</dialog><details open ontoggle=top.ran=1><summary>x</summary></details>`,
  covering: `<div style="position:fixed;inset:0;z-index:2147483647;background:red">all yours</div><style>html,body{position:fixed;top:-500px}</style>`,
  ping: `<a href="https://good.test" ping="${away}/ping" target=_top>x</a><a href="//evil.test">x</a><a href="/users" target=_self>x</a><area href="${away}">`,
}

const odd: readonly (readonly [name: string, source: string | Buffer])[] = [
  ['deep tables', `Subject: deep tables\r\nContent-Type: text/html\r\n\r\n${'<table><tr><td>'.repeat(30_000)}deep`],
  [
    'large',
    `Subject: large\r\nContent-Type: text/html\r\n\r\n${'<table><tr><td>cell</td></tr></table>\r\n'.repeat(100_000)}`,
  ],
  [
    'ten megabytes',
    `Subject: ten megabytes\r\nContent-Type: text/html\r\n\r\n${'<table><tr><td>\r\n'.repeat(620_000)}deep`,
  ],
  [
    'long names',
    `Subject: long names ${'W'.repeat(50_000)}\r\nFrom: "${'N'.repeat(20_000)}" <a@b.test>\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename="../../${'F'.repeat(20_000)}.exe"\r\n\r\nx\r\n--b--\r\n`,
  ],
  [
    'many people',
    `Subject: many people\r\nTo: ${Array.from({ length: 5000 }, (_, n) => `"P ${n}" <p${n}@example.org>`).join(',\r\n ')}\r\n\r\nhello`,
  ],
  [
    'turned round',
    Buffer.from(
      'Subject: turned round \u202ereverse\u2066 me\r\nFrom: "security@bank.test\u202e" <thief@evil.test>\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename*=utf-8\'\'invoice%E2%80%AEfdp.exe\r\n\r\nMZ\r\n--b\r\nContent-Type: image/svg+xml\r\nContent-Disposition: attachment; filename="p.svg"\r\n\r\n<svg xmlns="http://www.w3.org/2000/svg" onload="top.ran=1"/>\r\n--b--\r\n',
    ),
  ],
]

async function bring(to: Account, source: string | Buffer): Promise<number> {
  const place = `/users/${to.id}/mailboxes/${to.box('INBOX')}/messages`
  const answer = await service.raw('POST', place, {
    headers: { 'content-type': 'message/rfc822' },
    body: Buffer.from(source),
  })
  const body = (await answer.json()) as { message: { id: number } }
  expect(answer.status).toBe(200)
  return body.message.id
}

beforeAll(async () => {
  victim = await account(service, 'victim')
})

/** Opens a message as the page itself would and waits until it is shown. */
async function open(page: Page, uid: number, subject: string): Promise<void> {
  const place = `/app/mail/${victim.box('INBOX')}?m=${uid}`
  await page.evaluate(`history.pushState(null, '', '${place}'); dispatchEvent(new PopStateEvent('popstate'))`)
  // What is far too large takes its time on a busy machine.
  const timeout = 90_000
  await page.locator('.mail-message h2', { hasText: subject }).waitFor({ timeout })
  await page.locator('.mail-html[aria-busy=false], .mail-text').first().waitFor({ timeout })
  await settled(page)
}

/** What was put in was drawn twice, and a request that was made after that was seen: so was everything it asked for before. */
async function settled(page: Page): Promise<void> {
  const seen = page.waitForRequest(`${pages.origin}/app/settled`)
  await page.evaluate(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(
    () => fetch('/app/settled').then(done)
  )))`)
  await seen
}

/** Nothing ran, nothing was asked for elsewhere, and the page answers. */
async function unharmed(page: Page, asked: readonly string[]): Promise<void> {
  expect(await page.evaluate('globalThis.ran')).toBeUndefined()
  expect(asked).toEqual([])
  expect(page.url()).toContain('/app/mail/')
  expect(pagesOf(page.context())).toHaveLength(1)
}

const refused = [
  ...['Content Security Policy', 'tracker.test', 'status of', 'ERR_', 'sandbox', 'evil.test'],
  'request: https://tracker.test',
]

/** What a page asks for elsewhere from now on. */
function asking(page: Page): string[] {
  const asked: string[] = []
  page.on('request', request => {
    if (!request.url().startsWith(pages.origin) && !/^(data|blob|about):/.test(request.url())) asked.push(request.url())
  })
  return asked
}

const letter = (name: string, html: string) =>
  `Subject: ${name}\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>${name}</p>${html}\r\n`

/** Tags that nothing is left of. */
const gone = ['script', 'iframe', 'form', 'input', 'button', 'svg', 'math', 'object', 'embed']
const goneToo = [
  'meta[http-equiv]',
  'base',
  'link',
  'frame',
  'dialog',
  '[popover]',
  'template',
  '[onerror]',
  '[onload]',
]

async function tried(page: Page, vectors: Readonly<Record<string, string>>): Promise<void> {
  const asked = asking(page)
  for (const [name, html] of Object.entries(vectors)) {
    await open(page, await bring(victim, letter(name, html)), name)
    const inside = page.frameLocator('iframe.mail-html')
    for (const link of await inside.getByRole('link').all()) {
      expect(await link.getAttribute('href'), name).toMatch(/^(https?:|mailto:|tel:)/)
      expect(await link.getAttribute('target'), name).toBe('_blank')
    }
    const left = await inside.locator([...gone, ...goneToo].join(',')).evaluateAll(all => all.map(String))
    expect(left, name).toEqual([])
    await unharmed(page, asked)
    await page.getByRole('button', { name: 'Why is it here' }).click()
  }
}

test('nothing runs and nothing leaves, whatever is tried', async () => {
  const page = await pages.visit('/app/mail', { as: 'victim' })
  pages.expectErrors(...refused)
  await tried(page, vectors)
})

test('nor what is tried by further ways', async () => {
  const page = await pages.visit('/app/mail', { as: 'victim' })
  pages.expectErrors(...refused)
  await tried(page, furtherVectors)
})

test('nor what is another document when it is read again', async () => {
  const page = await pages.visit('/app/mail', { as: 'victim' })
  pages.expectErrors(...refused)
  await tried(page, mutationVectors)
})

test('where pictures are wanted pictures come and nothing else', async () => {
  const page = await pages.visit('/app/mail', { as: 'victim' })
  pages.expectErrors(...refused)
  const asked = asking(page)
  const show = page.getByRole('button', { name: 'Show pictures' })
  const all = { ...vectors, ...furtherVectors, ...mutationVectors }
  const some = ['pictures', 'styles', 'svg', 'handlers', 'styles that fetch', 'pages that lead elsewhere']
  for (const name of [
    ...some,
    'pictures of all kinds',
    'styles in pieces',
    'styles of today',
    'signs that bring others',
  ]) {
    await open(page, await bring(victim, letter(name, all[name] ?? '')), name)
    if ((await show.count()) > 0) {
      await show.click()
      await page.locator('.mail-html[src$=pictures][aria-busy=false]').waitFor()
    }
    await settled(page)
    expect(await page.evaluate('globalThis.ran')).toBeUndefined()
    expect(asked.filter(url => !/\.(?:png|svg|cur)$/.test(url))).toEqual([])
    asked.length = 0
  }
})

test('pictures behind a letter and its tables are counted, and come where pictures are wanted', async () => {
  const page = await pages.visit('/app/mail', { as: 'victim' })
  pages.expectErrors(...refused)
  const asked = asking(page)
  const html = `<body background="${away}/body.png"><table background=" ${away}/table.png"><tr><td background="/cell.png">x</td></tr></table>`
  await open(page, await bring(victim, letter('grounds', html)), 'grounds')
  await settled(page)
  expect(asked).toEqual([])
  await page.getByRole('button', { name: 'Show pictures' }).click()
  await page.locator('.mail-html[src$=pictures][aria-busy=false]').waitFor()
  await expect.poll(() => asked.toSorted()).toEqual([`${away}/body.png`, `${away}/table.png`])
  expect(await page.frameLocator('iframe.mail-html').locator('td[background]').count()).toBe(0)
})

test('a link whose text is another host than its own has that written behind it', async () => {
  const page = await pages.visit('/app/mail', { as: 'victim' })
  const links = [
    ['https://evil.test/x', 'www.bank.test', '[evil.test]'],
    ['https://evil.test', 'HTTPS://bank.test/login?a=b', '[evil.test]'],
    ['https://bank.test.evil.test/', 'bank.test', '[bank.test.evil.test]'],
    ['https://bаnk.test/', 'bank.test', '[xn--bnk-6cd.test]'],
    ['https://evil.test:8080/', 'b\u200bank.test', '[evil.test]'],
    ['https://click.bank.test/', 'bank.test', ''],
    ['https://www.bank.test/login', 'bank.test', ''],
    ['https://evil.test/', 'Read on', ''],
    ['https://hidden.test/', '<b>bank.test</b><i style="display:none"> and more</i>', '[hidden.test]'],
    ['https://within.test/', 'Sign in at https://bank.test/login now', '[within.test]'],
    ['https://bank.test/', 'Sign in at www.bank.test now', ''],
    ['https://sixth.test/', 'bank.test', '[sixth.test]'],
  ]
  const html = links.map(([href, text]) => `<p><a href="${href}">${text}</a></p>`).join('')
  await open(page, await bring(victim, letter('claims', html)), 'claims')
  const said = page.frameLocator('iframe.mail-html').locator('p:has(a)')
  await said.nth(links.length - 1).waitFor()
  const lines = await said.allTextContents()
  expect(lines.map(line => /\[.*\]/.exec(line)?.[0] ?? '')).toEqual(links.map(([, , mark]) => mark))
  // Above the letter, where none of its styles reaches, the first ones are said again.
  const hosts = ['evil.test', 'bank.test.evil.test', 'xn--bnk-6cd.test', 'hidden.test', 'within.test']
  const notice = page.locator('.mail-note', { hasText: 'lead to other hosts' })
  expect(await notice.locator('bdi').textContent()).toBe(hosts.join(', '))
  const hiding = '<style>small, a + * { display: none; font-size: 0 !important; }</style>'
  const one = '<p><a href="https://evil.test/">bank.test</a></p>'
  await open(page, await bring(victim, letter('hiding', hiding + one)), 'hiding')
  expect(await page.frameLocator('iframe.mail-html').locator('p > small').isVisible()).toBe(true)
  const worse = '<style>small.teal-host { display: none !important }</style>'
  await open(page, await bring(victim, letter('worse', worse + one)), 'worse')
  expect(await notice.locator('bdi').textContent()).toBe('evil.test')
  await open(page, await bring(victim, letter('true', '<a href="https://bank.test/">bank.test</a>')), 'true')
  expect(await notice.count()).toBe(0)
})

test('what is too large, too deep or turned round is shown, and the page stays of use', async () => {
  const page = await pages.visit('/app/mail', { as: 'victim' })
  const asked: string[] = []
  for (const [name, source] of odd) {
    await open(page, await bring(victim, source), name)
    await unharmed(page, asked)
    expect(await page.locator('.mail-message h2').textContent()).toContain(name)
  }
  const text = (await page.locator('.mail-message').textContent()) ?? ''
  expect(text).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/)
  expect(text).toContain('thief@evil.test')
  expect(await page.locator('.mail-message strong').first().textContent()).toBe('thief@evil.test')
  await page.getByRole('link', { name: /invoicefdp\.exe/ }).waitFor()
  await page.getByRole('button', { name: 'New message' }).click()
  await page.getByRole('dialog').waitFor()
})
