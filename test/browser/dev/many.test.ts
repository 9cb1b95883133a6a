// The page of `teal dev` with more mails than fit: only those in view are there, and what is read keeps its place while more arrive.

import { expect, test } from 'vitest'
import { useDevPage } from './window.ts'

const on = useDevPage()
const { send, subjects } = on

/** The first one first; all others ten at a time. */
async function sendMany(count: number, subject: (number: number) => string): Promise<void> {
  const sent = (number: number) => send({ subject: subject(number), text: `Body ${number}` })
  const ordered = Math.min(count, 4)
  for (let number = 1; number <= ordered; number += 1) await sent(number)
  for (let number = ordered + 1; number <= count; number += 10)
    await Promise.all(Array.from({ length: Math.min(10, count - number + 1) }, (_, at) => sent(number + at)))
}

const placeOf = async (subject: RegExp) =>
  (
    await on.page
      .locator('#list li')
      .filter({ has: on.page.locator('.subject', { hasText: subject }) })
      .boundingBox()
  )?.y

test('of many mails those in view are there, and what is read stays in its place while more arrive', async () => {
  await sendMany(120, number => `Mail ${number}`)
  await on.page.getByText('120 mails, 120 unread').waitFor()
  expect(await on.page.locator('#list li').count()).toBeLessThan(40)
  const list = on.page.locator('#list')
  await list.evaluate(element => element.scrollTo(0, element.scrollHeight))
  await on.page.locator('#list .subject', { hasText: /^Mail 1$/ }).click()
  await on.page.locator('#mail h2', { hasText: /^Mail 1$/ }).waitFor()
  const before = await placeOf(/^Mail 2$/)
  expect(before).toBeGreaterThan(0)
  // More than the page asks for beyond what it shows.
  await sendMany(90, number => `More ${number}`)
  await on.page.getByText('210 mails, 209 unread').waitFor()
  expect(await placeOf(/^Mail 2$/)).toBe(before)
  await on.page.keyboard.press('k')
  await on.page.locator('#mail h2', { hasText: /^Mail 2$/ }).waitFor()
  expect(await placeOf(/^Mail 2$/)).toBe(before)
})

test('who scrolls while an answer is on its way stays where they went', async () => {
  await sendMany(100, number => `Mail ${number}`)
  await on.page.getByText('100 mails, 100 unread').waitFor()
  const list = on.page.locator('#list')
  const held = Promise.withResolvers<void>()
  const asked = on.page.waitForRequest(/\/lines/)
  await on.page.route(/\/lines/, async route => {
    await held.promise
    await route.continue()
  })
  await list.evaluate(element => element.scrollTo(0, 76 * 20))
  await send({ subject: 'One more', text: 'x' })
  await asked
  await list.evaluate(element => element.scrollTo(0, 76 * 30 + 5))
  await on.page.locator('#list li:not(.waiting)').nth(5).waitFor()
  const subject = await on.page.locator('#list .subject').nth(8).textContent()
  const before = await placeOf(new RegExp(`^${subject}$`))
  held.resolve()
  await on.page.getByText('101 mails, 101 unread').waitFor()
  expect(await placeOf(new RegExp(`^${subject}$`))).toBe(before)
  expect(await list.evaluate(element => element.scrollTop)).toBe(76 * 31 + 5)
  await on.page.unroute(/\/lines/)
})

test('pressed twice before anything is answered, the key deletes two mails and goes to the next', async () => {
  await sendMany(4, number => `Mail ${number}`)
  await on.page.getByText('4 mails, 4 unread').waitFor()
  for (const _ of [1, 2]) await on.page.keyboard.press('j')
  await on.page.locator('#mail h2', { hasText: 'Mail 3' }).waitFor()
  const held = Promise.withResolvers<void>()
  await on.page.route(/\/dev\/v1\/(mails$|lines)/, async route => {
    await held.promise
    await route.continue()
  })
  await on.page.keyboard.press('d')
  await on.page.keyboard.press('d')
  await on.page.locator('#mail h2', { hasText: 'Mail 1' }).waitFor()
  expect(await subjects()).toEqual(['Mail 4', 'Mail 1'])
  held.resolve()
  await on.page.getByText('2 mails, 0 unread', { exact: false }).or(on.page.getByText('2 mails, 1 unread')).waitFor()
  await on.page.locator('#mail h2', { hasText: 'Mail 1' }).waitFor()
  expect(await subjects()).toEqual(['Mail 4', 'Mail 1'])
  await on.page.unroute(/\/dev\/v1\/(mails$|lines)/)
})
