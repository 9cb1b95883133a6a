// Writing with form in a real browser: the bar by keyboard, hostile things pasted and quoted, pictures in the text, signatures.

import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { type Account, account, mail } from '../../http/api/mail-world.ts'
import { look, shoot, usePage } from './page.ts'

const pages = usePage()
const { service } = pages

const writer = (page: Page): Locator => page.locator('.mail-writer')
const body = (page: Page): Locator => writer(page).getByRole('textbox', { name: 'What you write' })
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

async function begin(page: Page, to = 'a@example.net'): Promise<void> {
  await page.getByRole('button', { name: 'New message' }).click()
  await writer(page).getByLabel('To', { exact: true }).fill(to)
  await writer(page).getByLabel('Subject').fill('With form')
}

async function withForm(page: Page): Promise<void> {
  await writer(page).getByRole('button', { name: 'Formatting' }).click()
  await writer(page).getByRole('toolbar').getByRole('button', { name: 'Bold' }).waitFor()
  await body(page).click()
}

/** As the browser does it, with what the clipboard holds. */
async function paste(page: Page, held: { html?: string; text?: string; picture?: string }): Promise<void> {
  await body(page).focus()
  await page.evaluate(`{
    const given = ${JSON.stringify(held)}
    const clipboardData = new DataTransfer()
    if (given.html !== undefined) clipboardData.setData('text/html', given.html)
    if (given.text !== undefined) clipboardData.setData('text/plain', given.text)
    if (given.picture !== undefined) {
      const bytes = Uint8Array.from(atob(given.picture), sign => sign.charCodeAt(0))
      clipboardData.items.add(new File([bytes], 'dot.png', { type: 'image/png' }))
    }
    document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
  }`)
}

async function sent(user: Account) {
  return (await user.call('GET', `/mailboxes/${user.box('Sent Mail')}/messages/1`)).body
}

async function send(page: Page): Promise<void> {
  await writer(page).getByRole('button', { name: 'Send', exact: true }).click()
  await expect.poll(() => writer(page).count(), { timeout: 20_000 }).toBe(0)
}

test('a letter is written with form by keyboard alone, and goes out as that and as text', async () => {
  const user = await account(service, 'former')
  const page = await pages.visit('/app/mail', { as: 'former' })
  await begin(page)
  await withForm(page)
  await page.keyboard.type('Plain and ')
  await page.keyboard.press('Control+b')
  await page.keyboard.type('bold')
  await page.keyboard.press('Control+b')
  await page.keyboard.press('Enter')
  // Along the bar with the arrows.
  await writer(page).getByRole('button', { name: 'Bold' }).focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  expect(await page.evaluate(`document.activeElement.getAttribute('aria-label')`)).toBe('List')
  await page.keyboard.press('Enter')
  await page.keyboard.type('one')
  await page.keyboard.press('Enter')
  await page.keyboard.type('two')
  await writer(page).getByRole('button', { name: 'List', exact: true, pressed: true }).waitFor()
  await page.keyboard.press('Shift+Home')
  await writer(page).getByLabel('Colour').selectOption('Red')
  await writer(page).getByRole('button', { name: 'Link', exact: true }).click()
  await page.keyboard.type('example.org/x')
  await page.keyboard.press('Enter')
  await writer(page).getByText('Draft saved').waitFor()
  await look(page)
  await shoot(page, 'writer-rich')
  await send(page)
  const { html, text, contentType } = await sent(user)
  expect(contentType.value).toBe('multipart/alternative')
  expect(html.join('')).toMatch(/Plain and&nbsp;<b>bold<\/b>/)
  expect(html.join('')).toMatch(/<ul>.*<li>.*one.*<li>.*two/s)
  expect(html.join('')).toContain('style="color: #b3261e"')
  expect(html.join('')).toContain('href="https://example.org/x"')
  expect(text.replaceAll('\r\n', '\n').trim()).toBe('Plain and bold\n\n- one\n- two <https://example.org/x>')
})

test('nothing of what is pasted runs, loads or keeps a style, and its form stays', async () => {
  const user = await account(service, 'paster')
  const page = await pages.visit('/app/mail', { as: 'paster' })
  await begin(page)
  await withForm(page)
  const html = `<b style="font-weight:normal" id="doc"><p>no <span style="font-weight:700">bold</span></p></b>
    <style>* { display: none }</style><script>document.title = 'owned'</script>
 <a href="javascript:document.title='owned'">bad</a> <a href="https://example.org/">good</a>
    <img src="https://evil.example/x.png" alt="far" onerror="document.title='owned'"><img src=x onerror="document.title='owned'">
    <form action="https://evil.example/"><input name="attributes"><button>go</button></form><iframe src="https://evil.example"></iframe>
    <div class="mail-writer" style="position:fixed;inset:0">over</div>
    <svg><style><img src=x onerror="document.title='owned'"></style></svg><math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror=document.title='owned'&gt;">
    `
  await paste(page, { html, text: 'x' })
  await body(page).getByText('good').waitFor()
  expect(await page.title()).not.toContain('owned')
  const left = await body(page).innerHTML()
  expect(left).not.toMatch(
    /script|onerror|evil|javascript|<svg|<math|<style|<form|<input|<iframe|class="mail|style=|id=/,
  )
  expect(left).toMatch(/no .*<b>bold<\/b>/)
  await writer(page).getByText('Draft saved').waitFor()
  // Undone and done again it is as harmless.
  await page.keyboard.press('Control+z')
  await page.keyboard.press('Control+y')
  await body(page).getByText('good').waitFor()
  await send(page)
  expect((await sent(user)).html.join('')).not.toMatch(/script|onerror|evil|javascript|position/)
})

test('a picture is pasted into the text, goes along as a part of the message, and is there again in the draft', async () => {
  const user = await account(service, 'painter')
  const page = await pages.visit('/app/mail', { as: 'painter' })
  await begin(page)
  await withForm(page)
  await page.keyboard.type('See ')
  await paste(page, { picture: pixel })
  await body(page).locator('img').waitFor()
  await writer(page).getByText('Draft saved').waitFor()
  await writer(page).getByRole('button', { name: 'Save and close' }).click()
  await expect.poll(() => writer(page).count()).toBe(0)
  const [draft] = (await user.call('GET', `/mailboxes/${user.box('Drafts')}/messages`)).body.results
  await page.goto(`${pages.origin}/app/mail/${user.box('Drafts')}?m=${draft.id}`)
  await page.getByRole('button', { name: 'Go on writing' }).click()
  await body(page).locator('img[src^="data:image/png"]').waitFor()
  expect(await writer(page).getByRole('list', { name: 'Attachments' }).count()).toBe(0)
  await send(page)
  const message = await sent(user)
  expect(message.attachments).toMatchObject([{ contentType: 'image/png', related: true }])
  expect(message.html.join('')).toContain('attachment:')
})

test('an answer quotes hostile HTML harmlessly, its text part has the quote too, and the way back to plain says what is lost', async () => {
  const user = await account(service, 'quoter')
  const html = `<p>Hello <b>you</b></p><img src="https://evil.example/t.gif" alt="tracker"><script>document.title='owned'</script>
    <div onclick="document.title='owned'" style="position:fixed;inset:0;background:url(https://evil.example/b)">cover</div>`
  const id = await user.put('INBOX', mail('Question', 'Hello you', { html }))
  const page = await pages.visit('/app/mail', { as: 'quoter' })
  await begin(page)
  await withForm(page)
  await writer(page).getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('dialog', { name: 'Discard this draft?' }).getByRole('button', { name: 'Discard' }).click()
  // Remembered: the answer is written so, too.
  pages.expectErrors('Blocked script execution', 'Executing inline event handler')
  await page.goto(`${pages.origin}/app/mail/${user.box('INBOX')}?m=${id}`)
  await page.getByRole('button', { name: 'Reply', exact: true }).click()
  await body(page).locator('blockquote b').waitFor()
  await look(page)
  await shoot(page, 'writer-answer')
  expect(await body(page).innerHTML()).not.toMatch(/evil|style=|onclick|<script/)
  await page.keyboard.type('Hello back')
  await writer(page).getByRole('button', { name: 'Plain text' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Close', exact: true }).click()
  await send(page)
  const message = await sent(user)
  expect(message.html.join('')).toMatch(/Hello back.*<blockquote[^>]*>.*<b>you<\/b>/s)
  expect(message.text).toMatch(/^Hello back\s+.* wrote on .*:\s+> Hello you/)
  expect(await page.title()).not.toContain('owned')
})

test('a quote that is read from the right stands so in an answer that is not, and goes out so; and the other way round', async () => {
  const user = await account(service, 'both')
  const ids = [
    await user.put('INBOX', mail('Greeting', 'مرحبا بك', { html: '<p>مرحبا بك</p>' })),
    await user.put('INBOX', mail('تحية', 'Welcome', { html: '<p>Welcome</p>' })),
  ]
  const page = await pages.visit('/app/mail', { as: 'both' })
  await begin(page)
  await withForm(page)
  await page.keyboard.type('x')
  await send(page)
  const directions = `['.mail-rich', '.mail-rich blockquote'].map(one => getComputedStyle(document.querySelector(one)).direction)`
  for (const [at, [answer, expected]] of [
    ['Thanks', ['ltr', 'rtl']],
    ['شكرا', ['rtl', 'ltr']],
  ].entries() as unknown as [number, [string, string[]]][]) {
    await page.goto(`${pages.origin}/app/mail/${user.box('INBOX')}?m=${ids[at]}`)
    await page.getByRole('button', { name: 'Reply', exact: true }).click()
    await body(page).locator('blockquote').waitFor()
    await body(page).click({ position: { x: 5, y: 5 } })
    await page.keyboard.press('Control+Home')
    await page.keyboard.type(answer)
    await expect.poll(() => page.evaluate(directions)).toEqual(expected)
    await shoot(page, `writer-directions-${at}`)
    await send(page)
    const { html } = (await user.call('GET', `/mailboxes/${user.box('Sent Mail')}/messages/${at + 2}`)).body
    expect(html.join('')).toMatch(/<blockquote[^>]*dir="auto"/)
    // The bar stands where the quote begins, in programs that know no start and end; and what is around says from where it is read.
    const [around, side] = answer === 'Thanks' ? ['', 'right'] : ['<div dir="rtl">', 'left']
    expect(html.join('')).toMatch(new RegExp(`${around}.*border-${side}: 2px`, 's'))
  }
})

test('each address has its signature, in the form one writes in, and an answer goes out under the one that was written to', async () => {
  const user = await account(service, 'signer')
  const address = `second-signer@example.com`
  const signature = {
    text: 'Second\nin text',
    html: '<p>Second <i>in form</i><img src="https://evil.example/s.png" alt="logo"></p>',
  }
  expect((await user.call('POST', '/addresses', { address, name: 'Number Two', signature })).body).toMatchObject({
    success: true,
  })
  const id = await user.put('INBOX', mail('To the second', 'x', { to: [{ name: '', address }] }))
  const page = await pages.visit(`/app/mail/${user.box('INBOX')}?m=${id}`, { as: 'signer' })
  await page.getByRole('button', { name: 'Reply', exact: true }).click()
  await writer(page).waitFor()
  expect(await writer(page).getByLabel('From').inputValue()).toBe(address)
  expect(await body(page).inputValue()).toContain('-- \nSecond\nin text')
  await writer(page).getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('dialog', { name: 'Discard this draft?' }).getByRole('button', { name: 'Discard' }).click()
  await begin(page)
  await withForm(page)
  await page.keyboard.type('Dear you')
  await writer(page).getByLabel('From').selectOption(address)
  await body(page).locator('.signature i').waitFor()
  expect(await body(page).innerHTML()).not.toContain('evil')
  await send(page)
  const message = await sent(user)
  expect(message.from).toEqual({ name: 'Number Two', address })
  expect(message.html.join('')).toMatch(/Dear you.*Second <i>in form<\/i>/s)
  expect(message.text.replaceAll('\r\n', '\n')).toMatch(/Dear you\n+-- \n+Second in form/)
})
