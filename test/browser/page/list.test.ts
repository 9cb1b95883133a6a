// The list of mail in a real browser: conversations, everything at once, a search that is typed, two windows that both act, keys alone.

import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { type Account, account, mail } from '../../http/api/mail-world.ts'
import { look, shoot, usePage } from './page.ts'

const pages = usePage()
const { service } = pages

const row = (page: Page, subject: string) => page.locator('.mail-row', { hasText: subject })
const rows = (page: Page) => page.locator('.mail-list').getAttribute('data-rows')
const scroll = (page: Page, top: number) => page.evaluate(`document.querySelector('.mail-list').scrollTop = ${top}`)
const date = (n: number) => ({ date: new Date(Date.UTC(2024, 0, 1) + n * 3_600_000).toISOString() })

let made = 0

function letter(user: Account, path: string, thread: string, n: number, more: Record<string, unknown> = {}) {
  made += 1
  const headers = [
    { key: 'Message-ID', value: `<${made}.${thread}@x.example>` },
    { key: 'References', value: `<root.${thread}@x.example>` },
  ]
  return user.put(path, mail(`${thread} ${n}`, `letter ${n}`, { headers, ...date(n), ...more }))
}

describe('conversations', () => {
  test('stand in one row, open with their letters, are counted right and filed as one', async () => {
    const user = await account(service, 'talker')
    await letter(user, 'INBOX', 'Trip', 1)
    await letter(user, 'Sent Mail', 'Trip', 2)
    await letter(user, 'INBOX', 'Trip', 3, { unseen: true })
    await letter(user, 'Trash', 'Trip', 4)
    await letter(user, 'INBOX', 'Bill', 2)
    const page = await pages.visit('/app/mail', { as: 'talker' })
    await page.getByText('2 conversations').waitFor()
    expect(await row(page, 'Trip').locator('.thread').textContent()).toContain('3 in the conversation')
    await look(page)
    await shoot(page, 'conversations')
    await row(page, 'Trip').getByRole('link').click()
    await page.getByRole('heading', { name: 'Conversation' }).waitFor()
    await expect.poll(() => rows(page)).toBe('3')
    await page.getByRole('heading', { name: 'Trip 3' }).waitFor()
    await row(page, 'Trip 1').getByRole('link').click()
    await page.getByRole('heading', { name: 'Trip 1' }).waitFor()
    await look(page)
    await shoot(page, 'conversation')
    await page.locator('.mail-out').click()
    await expect.poll(() => page.locator('.mail-row.unread').count()).toBe(0)
    await page.getByRole('checkbox', { name: 'Select: Trip 3' }).click()
    await page.getByRole('toolbar').getByRole('button', { name: 'Archive' }).click()
    await page.getByText('2 moved to Archive').waitFor()
    await expect.poll(() => rows(page)).toBe('1')
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(() => rows(page)).toBe('2')
    await page.getByRole('button', { name: 'By conversations' }).click()
    await expect.poll(() => rows(page)).toBe('3')
  })
})

describe('everything at once', () => {
  test('a folder is moved by one call, with some left out, and back again', async () => {
    const user = await account(service, 'mover')
    for (let n = 0; n < 60; n += 1) await user.put('INBOX', mail(`Pile ${n}`, 'x', date(n)))
    const page = await pages.visit('/app/mail', { as: 'mover' })
    await row(page, 'Pile 59').waitFor()
    const asked: string[] = []
    page.on('request', request => {
      if (request.method() !== 'GET') asked.push(`${request.method()} ${new URL(request.url()).pathname}`)
    })
    await page.getByRole('checkbox', { name: 'Select all' }).click()
    await page.getByText('All 60 selected').waitFor()
    await page.getByRole('checkbox', { name: 'Select: Pile 58' }).click()
    await page.getByText('All 59 selected').waitFor()
    await look(page)
    await shoot(page, 'all')
    await page.getByRole('toolbar').getByRole('button', { name: 'Junk' }).click()
    await page.getByText('59 moved to Junk').waitFor()
    await expect.poll(() => rows(page)).toBe('1')
    await row(page, 'Pile 58').waitFor()
    expect(asked).toEqual([`POST /users/${user.id}/search`])
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(() => rows(page)).toBe('60')
    expect((await user.call('GET', `/mailboxes/${user.box('Junk')}/messages`)).body.total).toBe(0)
  })

  test('a range is selected by keys, over rows that were never shown', async () => {
    const user = await account(service, 'ranger')
    for (let n = 0; n < 130; n += 1) await user.put('INBOX', mail(`Row ${n}`, 'x', date(n)))
    const page = await pages.visit('/app/mail', { as: 'ranger' })
    await page.getByRole('checkbox', { name: 'Select: Row 129' }).click()
    await scroll(page, 1e9)
    await row(page, 'Row 0').waitFor()
    await page.getByRole('checkbox', { name: 'Select: Row 1', exact: true }).click({ modifiers: ['Shift'] })
    await page.getByText('129 selected').waitFor()
    await page.getByRole('toolbar').getByRole('button', { name: 'Mark as unread' }).click()
    await expect.poll(async () => (await user.call('GET', `/mailboxes/${user.box('INBOX')}`)).body.unseen).toBe(129)
  })
})

describe('a search that is typed', () => {
  test('suggests words, people and folders, and finds', async () => {
    const user = await account(service, 'seeker')
    await user.put('INBOX', mail('The plan', 'x', { from: { name: 'Anna Lund', address: 'anna@example.net' } }))
    await user.put('INBOX', mail('Other', 'x'))
    await user.call('POST', '/mailboxes', { path: 'My papers' })
    await service.indexed()
    const page = await pages.visit('/app/mail', { as: 'seeker' })
    await row(page, 'Other').waitFor()
    await page.keyboard.press('/')
    const field = page.getByRole('combobox', { name: 'Search mail' })
    await page.keyboard.type('is')
    // Those of the first letter alone are gone.
    await expect.poll(() => page.getByRole('option', { name: /^in:/ }).count()).toBe(0)
    await page.getByRole('option', { name: /^is:/ }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    expect(await field.inputValue()).toBe('is:')
    await page.getByRole('option', { name: /is:unread/ }).waitFor()
    await look(page)
    await shoot(page, 'suggestions')
    await field.fill('in:my')
    await page.getByRole('option', { name: /in:"My papers"/ }).click()
    expect(await field.inputValue()).toBe('in:"My papers" ')
    await page.getByText('Nothing was found').waitFor()
    await field.fill('from:anna')
    await row(page, 'The plan').waitFor()
    await page.getByText('1 found').waitFor()
    await page.getByRole('button', { name: 'How to search' }).click()
    const help = page.getByRole('dialog', { name: 'How to search' })
    await help.getByText('has:attachment').waitFor()
    await look(page)
    await shoot(page, 'syntax')
    await page.keyboard.press('Escape')
    await field.fill('')
    await row(page, 'Other').waitFor()
  })

  test('what is found is jumped into, far down', async () => {
    const user = await account(service, 'jumper')
    for (let n = 0; n < 230; n += 1) await user.put('INBOX', mail(`Hit ${n}`, 'needle', date(n)))
    await service.indexed()
    const page = await pages.visit('/app/mail?q=needle', { as: 'jumper' })
    await row(page, 'Hit 229').waitFor()
    await expect.poll(() => rows(page)).toBe('230')
    await scroll(page, 72 * 150)
    await row(page, 'Hit 79').waitFor()
    await row(page, 'Hit 79').getByRole('link').click()
    await page.getByRole('heading', { name: 'Hit 79' }).waitFor()
    await row(page, 'Hit 79').waitFor()
    await scroll(page, 1e9)
    await page.getByRole('checkbox', { name: 'Select: Hit 0' }).waitFor()
  })
})

test('two windows that both act come to the same', async () => {
  // Both make the archive, and one of them is there first.
  pages.expectErrors('status of 400')
  const user = await account(service, 'twofold')
  for (let n = 0; n < 30; n += 1) await user.put('INBOX', mail(`Both ${n}`, 'x', { ...date(n), unseen: true }))
  const windows = [
    await pages.visit('/app/mail', { as: 'twofold' }),
    await pages.visit('/app/mail', { as: 'twofold' }),
  ] as const
  for (const page of windows) await row(page, 'Both 29').waitFor()
  await Promise.all(
    windows.map(async (page, side) => {
      for (const n of [0, 1, 2, 3]) {
        const subject = `Both ${29 - 2 * n - side}`
        // Not by the mouse: rows move under it while the other window acts.
        await page.getByRole('checkbox', { name: `Select: ${subject}`, exact: true }).dispatchEvent('click')
        const name = n % 2 === 0 ? 'Archive' : 'Mark as read'
        await page.getByRole('toolbar').getByRole('button', { name, exact: true }).click()
        await user.put('INBOX', mail(`New ${side} ${n}`, 'x'))
      }
    }),
  )
  const shown = (page: Page) =>
    page.evaluate<string>(
      `[...document.querySelectorAll('.mail-row')].map(row => row.className.includes('unread') + row.querySelector('.subject').textContent).sort().join()`,
    )
  for (const page of windows) await expect.poll(() => rows(page)).toBe('34')
  for (const page of windows) await expect.poll(() => page.locator('.mail-row.waiting').count()).toBe(0)
  await expect.poll(async () => (await shown(windows[0])) === (await shown(windows[1]))).toBe(true)
  const counts = windows.map(page => page.locator('.mail-folders [aria-current] .count').first())
  for (const count of counts) await expect.poll(() => count.textContent()).toContain('22')
})

test('keys alone do: select, up to, all, conversation and back', async () => {
  const user = await account(service, 'typist')
  for (const n of [1, 2]) await letter(user, 'INBOX', 'Talk', n)
  for (const n of [3, 4, 5]) await user.put('INBOX', mail(`Key ${n}`, 'x', date(n)))
  const page = await pages.visit('/app/mail', { as: 'typist' })
  await row(page, 'Key 5').waitFor()
  for (const key of ['x', 'j', 'j', 'X']) await page.keyboard.press(key)
  await page.getByText('3 selected').waitFor()
  await page.keyboard.press('#')
  await page.getByText('3 moved to Trash').waitFor()
  // The letter may be there before the list that it stands in.
  const held = Promise.withResolvers<void>()
  const ofConversation = /thread%3A/
  await page.route(ofConversation, async route => {
    await held.promise
    await route.continue()
  })
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Talk 2' }).waitFor()
  await page.keyboard.press('j')
  held.resolve()
  await page.getByRole('heading', { name: 'Talk 1' }).waitFor()
  await page.unroute(ofConversation)
  await page.keyboard.press('u')
  await page.keyboard.press('u')
  await page.getByText('1 conversations').waitFor()
  await page.keyboard.press('*')
  await page.getByText('All 1 selected').waitFor()
  await page.keyboard.press('e')
  await page.getByText('2 moved to Archive').waitFor()
  await page.keyboard.press('z')
  await row(page, 'Talk').waitFor()
})

test('on a phone a conversation, its letters and the way back take turns', async () => {
  const user = await account(service, 'mobile')
  for (const n of [1, 2]) await letter(user, 'INBOX', 'Small', n)
  const page = await pages.visit('/app/mail', { as: 'mobile', width: 380 })
  await row(page, 'Small').getByRole('link').click()
  await page.getByRole('heading', { name: 'Small 2' }).waitFor()
  await page.getByRole('button', { name: 'Back to the list' }).click()
  await row(page, 'Small 1').waitFor()
  await look(page)
  await page.locator('.mail-out').click()
  await page.getByText('1 conversations').waitFor()
})

describe('in a window of a few lines, as it is at a zoom of 400% or above the keys of a phone', () => {
  const low = { width: 320, height: 200 }

  test('rows are seen and opened, also by keys alone', async () => {
    const user = await account(service, 'zoomed')
    for (let n = 0; n < 20; n += 1) await user.put('INBOX', mail(`Large ${n}`, 'x', date(n)))
    const page = await pages.visit('/app/mail', { as: 'zoomed' })
    await row(page, 'Large 19').waitFor()
    await page.setViewportSize(low)
    const seen = (subject: string) =>
      row(page, subject).evaluate(element => {
        const { top, bottom } = element.getBoundingClientRect()
        return top >= 0 && bottom <= element.ownerDocument.defaultView.innerHeight
      })
    for (let n = 0; n < 6; n += 1) await page.keyboard.press('j')
    await expect.poll(() => seen('Large 13')).toBe(true)
    await look(page)
    await shoot(page, 'low')
    await row(page, 'Large 12').getByRole('link').click()
    await page.getByRole('heading', { name: 'Large 12' }).waitFor()
    await page.locator('.mail-body').scrollIntoViewIfNeeded()
    await shoot(page, 'low-letter')
  })

  test('a letter is written and sent', async () => {
    await account(service, 'squeezed')
    const page = await pages.visit('/app/mail', { as: 'squeezed' })
    await page.setViewportSize(low)
    await page.getByRole('button', { name: 'New message' }).click()
    const writer = page.locator('.mail-writer')
    await writer.getByLabel('To', { exact: true }).fill('friend@example.net')
    await writer.getByLabel('Subject').fill('In short')
    await look(page)
    await writer.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByRole('button', { name: 'Take back' }).waitFor()
  })
})
