// A page of another site does in a real browser what such pages do, with somebody signed in here.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { usePage } from './page.ts'

const pages = usePage({ api: { port: 0, accessControl: { enabled: true }, cors: { origins: ['*'] } } })
const { service } = pages
let evil: Server
let attack = ''

beforeAll(() => {
  evil = createServer((_, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<!doctype html><title>Evil</title>${attack}<h1>Evil</h1>`)
  }).listen(0, '127.0.0.1')
})
afterAll(() => {
  evil.close()
})

test('nothing that another site has the browser send counts as the one who is signed in', async () => {
  const id = await service.user('target')
  const page = await pages.visit('/app/account', { as: 'target' })
  const { origin } = pages
  attack = `
    <form id="form" method="post" enctype="text/plain" target="frame" action="${origin}/users/${id}/mailboxes"><input name='{"path":"Form","x":"' value='"}'></form>
    <form id="out" method="post" target="frame" action="${origin}/session"></form>
    <iframe name="frame"></iframe><iframe src="${origin}/app/account"></iframe>
    <img src="${origin}/users/${id}">`
  pages.expectErrors('127.0.0.1', 'localhost', 'frame', 'status of', 'CORS', 'Content Security Policy', 'Failed to')
  const other = await page.context().newPage()
  await other.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}`)
  const said = await other.evaluate<string[]>(`(async () => {
    document.getElementById('form').submit()
    document.getElementById('out').submit()
    const said = []
    for (const options of [
      { credentials: 'include' },
      { credentials: 'include', mode: 'no-cors' },
      { credentials: 'include', headers: { 'X-Teal-Page': '1' } },
      { method: 'POST', credentials: 'include', mode: 'no-cors', headers: { 'Content-Type': 'text/plain' }, body: '{"path":"Fetch"}' },
      { method: 'POST', credentials: 'include', headers: { 'Content-Type': 'application/json' }, body: '{"path":"Json"}' },
    ]) {
      for (const path of ['/users/${id}', '/users/${id}/mailboxes', '/session']) {
        try {
          const response = await fetch('${origin}' + path, options)
          said.push(response.type + ' ' + response.status + ' ' + await response.text())
        } catch (error) {
          said.push(error.name)
        }
      }
    }
    return said
  })()`)
  expect(said.join()).not.toMatch(/target|signedIn": true/)
  const frames = other.frames().map(frame => frame.url())
  expect(frames.some(url => url.startsWith('chrome-error:'))).toBe(true)
  await other.goto(`${origin}/users/${id}`).catch(() => null)
  expect(await other.content()).not.toContain('target@example.com')
  await page.reload()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  const { body } = await service.call('GET', `/users/${id}/mailboxes`)
  expect(JSON.stringify(body)).not.toMatch(/Form|Fetch|Json/)
})

test('what runs in the page is what came with it', async () => {
  await service.user('policy')
  const page = await pages.visit('/app/account', { as: 'policy' })
  pages.expectErrors('Content Security Policy', 'violates')
  const ran = await page.evaluate<boolean>(`(async () => {
    const script = document.createElement('script')
    script.textContent = 'globalThis.ran = true'
    document.body.append(script)
    document.body.insertAdjacentHTML('beforeend', '<img src="data:,x" onerror="globalThis.ran = true">')
    await new Promise(resolve => setTimeout(resolve, 200))
    return globalThis.ran === true
  })()`)
  expect(ran).toBe(false)
})
