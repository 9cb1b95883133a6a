// Web pages that call the API: with a token those that are named, without one those of the service alone.

import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { useTeal } from '../running.ts'

const open = useTeal({
  api: { accessControl: { enabled: false }, cors: { origins: ['https://mail.example.com', '*'] } },
})
const closed = useTeal()

/** The status and head of an answer to a request with just these headers. */
function ask(
  service: typeof open,
  method: string,
  path: string,
  headers: Record<string, string>,
  body = '',
): Promise<string> {
  const { host, port } = service.at('api')
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = body === '' ? '' : `Content-Length: ${body.length}\r\n`
  return new Promise((resolve, reject) => {
    const socket = connect(port, host)
    let text = ''
    socket.on('data', chunk => {
      text += chunk
    })
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
    socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}${length}Connection: close\r\n\r\n${body}`)
  })
}
const statusOf = (answer: string) => Number(answer.split(' ')[1])
const port = () => open.at('api').port

describe('without access control', () => {
  test.each([
    ['a program', {}, 200],
    ['a program that calls it localhost', { Host: 'localhost:8080' }, 200],
    ['a program over IPv6', { Host: '[::1]:8080' }, 200],
    ['a name below localhost', { Host: 'teal.localhost' }, 200],
    ['an address that is typed in', { 'Sec-Fetch-Site': 'none' }, 200],
    ['a page that is named', { Origin: 'https://mail.example.com', 'Sec-Fetch-Site': 'cross-site' }, 200],
    ['another page', { Origin: 'https://evil.example' }, 403],
    ['a page without an origin', { Origin: 'null' }, 403],
    ['a page of another port', { Origin: 'http://127.0.0.1:1' }, 403],
    ['a picture in another page', { 'Sec-Fetch-Site': 'cross-site' }, 403],
    ['a page of a neighbour', { 'Sec-Fetch-Site': 'same-site' }, 403],
    ['a name that was rebound', { Host: 'evil.example' }, 403],
    ['a name that was rebound, as its own origin', { Host: 'evil.example', Origin: 'http://evil.example' }, 403],
    ['a name that looks like one of here', { Host: '127.0.0.1.evil.example' }, 403],
    ['an address of elsewhere', { Host: '192.0.2.1' }, 403],
    ['a Host that is none', { Host: '127.0.0.1:80:80' }, 403],
  ] as const)('%s', async (_, headers, status) => {
    const answer = await ask(open, 'GET', '/users', { Host: `127.0.0.1:${port()}`, ...headers })
    expect(statusOf(answer)).toBe(status)
    const { code } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))
    expect(code).toBe(status === 403 ? 'ForeignPage' : undefined)
  })

  test('its own pages may', async () => {
    const host = `127.0.0.1:${port()}`
    const own = { Host: host, Origin: `http://${host}`, 'Sec-Fetch-Site': 'same-origin' }
    expect(statusOf(await ask(open, 'GET', '/users', own))).toBe(200)
  })

  test.each(['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/plain', ''])(
    'a form of another page changes nothing (%s)',
    async type => {
      const host = `127.0.0.1:${port()}`
      const body = 'username=intruder&password=secret+of+intruder'
      const headers = { Host: host, Origin: 'https://evil.example', ...(type === '' ? {} : { 'Content-Type': type }) }
      expect(statusOf(await ask(open, 'POST', '/users', headers, body))).toBe(403)
      const late = { Host: host, 'Sec-Fetch-Site': 'cross-site', ...(type === '' ? {} : { 'Content-Type': type }) }
      expect(statusOf(await ask(open, 'POST', '/users', late, body))).toBe(403)
      expect((await open.call('GET', '/users', undefined, null)).body.total).toBe(0)
    },
  )

  test('whoever has a token may call from anywhere', async () => {
    const headers = {
      Host: 'mail.example.com',
      Origin: 'https://mail.example.com',
      'X-Access-Token': open.teal.rootToken,
    }
    expect(statusOf(await ask(open, 'GET', '/users', headers))).toBe(200)
  })

  test('what is public stays so', async () => {
    expect(statusOf(await ask(open, 'GET', '/openapi.json', { Host: 'evil.example' }))).toBe(200)
  })
})

test('with access control, no page is told that it may call unless it is named', async () => {
  const headers = { Host: 'x', Origin: 'https://evil.example', 'X-Access-Token': closed.teal.rootToken }
  expect((await ask(closed, 'GET', '/users', headers)).toLowerCase()).not.toContain('access-control')
  const asked = { Host: 'x', Origin: 'https://evil.example', 'Access-Control-Request-Method': 'PUT' }
  const preflight = await ask(closed, 'OPTIONS', '/users/1', asked)
  expect([statusOf(preflight), preflight.toLowerCase().includes('access-control')]).toEqual([405, false])
  const named = await ask(open, 'OPTIONS', '/users/1', { ...asked, Origin: 'https://mail.example.com' })
  expect(statusOf(named)).toBe(204)
})
