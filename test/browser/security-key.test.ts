// Security keys with a real browser: Chromium and its virtual authenticator on a page of the test's own.

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, CDPSession, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useTeal } from '../running.ts'
import { sharedChromium } from './chromium.ts'

/** What a page does with the options of the service: bytes out of hexadecimal digits, bytes into them. */
const html = `<!doctype html><title>Security keys</title><script>
const bytes = hex => Uint8Array.from(hex.match(/../g) ?? [], byte => parseInt(byte, 16))
const hex = data => [...new Uint8Array(data)].map(byte => byte.toString(16).padStart(2, '0')).join('')
const keys = list => (list ?? []).map(({ rawId, ...more }) => ({ ...more, id: bytes(rawId) }))
async function create(given) {
  const user = { ...given.user, id: new TextEncoder().encode(given.user.id) }
  const excludeCredentials = keys(given.excludeCredentials)
  const publicKey = { ...given, challenge: bytes(given.challenge), user, excludeCredentials }
  try {
    const { rawId, response } = await navigator.credentials.create({ publicKey })
    const { clientDataJSON, attestationObject } = response
    return { rawId: hex(rawId), clientDataJSON: hex(clientDataJSON), attestationObject: hex(attestationObject) }
  } catch (error) {
    return { refused: error.name }
  }
}
async function get(given) {
  const publicKey = { ...given, challenge: bytes(given.challenge), allowCredentials: keys(given.allowCredentials) }
  const { rawId, response } = await navigator.credentials.get({ publicKey })
  const { clientDataJSON, authenticatorData, signature } = response
  return {
    rawId: hex(rawId),
    clientDataJSON: hex(clientDataJSON),
    authenticatorData: hex(authenticatorData),
    signature: hex(signature),
  }
}
</script>`

const service = useTeal()
let browser: Browser
let server: Server
let origin: string

beforeAll(async () => {
  browser = await sharedChromium()
  server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(html)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://localhost:${(server.address() as AddressInfo).port}`
})

afterAll(() => {
  server.close()
})

interface Tab {
  readonly page: Page
  readonly cdp: CDPSession
  readonly authenticatorId: string
}

/** A page with a key in it whose owner touches it when asked. */
async function openTab(transport: 'usb' | 'internal'): Promise<Tab> {
  const page = await (await browser.newContext()).newPage()
  await page.goto(origin)
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{ protocol: 'ctap2', transport, hasUserVerification: transport === 'internal', isUserVerified: true },
      automaticPresenceSimulation: true,
    },
  })
  return { page, cdp, authenticatorId }
}

type Answer = Readonly<Record<string, string>>

/** A key for the registration options of the service, or the name of the browser's refusal. */
const create = (page: Page, options: unknown) => page.evaluate<Answer>(`create(${JSON.stringify(options)})`)
/** The answer of a key for the authentication options of the service. */
const get = (page: Page, options: unknown) => page.evaluate<Answer>(`get(${JSON.stringify(options)})`)

for (const [transport, authenticatorAttachment] of [
  ['usb', 'cross-platform'],
  ['internal', 'platform'],
] as const) {
  test(`a ${authenticatorAttachment} key is registered in a browser, finishes logins there and cannot be copied`, async () => {
    const name = `browser-${transport}`
    const id = await service.user(name)
    const call = async (path: string, body: object) =>
      (await service.call('POST', `/users/${id}/2fa/webauthn${path}`, body)).body
    const { page, cdp, authenticatorId } = await openTab(transport)
    const asking = { origin, rpId: 'localhost', authenticatorAttachment }

    const asked = await call('/registration-challenge', { ...asking, description: 'In the browser' })
    const made = await create(page, asked.registrationOptions)
    const { challenge } = asked.registrationOptions
    const registered = await call('/registration-attestation', { challenge, rpId: 'localhost', ...made })
    expect(registered).toMatchObject({ success: true, response: { authenticatorAttachment } })

    const again = await call('/registration-challenge', { ...asking, description: 'The same again' })
    expect(await create(page, again.registrationOptions)).toEqual({ refused: 'InvalidStateError' })

    const password = `secret of ${name}`
    const loginWithKey = async () => {
      const login = (await service.call('POST', '/authenticate', { username: name, password, token: true })).body
      const { twoFactorNonce } = login
      const { authenticationOptions } = await call('/authentication-challenge', { ...asking, twoFactorNonce })
      const shown = await get(page, authenticationOptions)
      const answer = { challenge: authenticationOptions.challenge, rpId: 'localhost', ...shown, twoFactorNonce }
      return call('/authentication-assertion', answer)
    }
    for (let round = 0; round < 2; round++) {
      const entered = await loginWithKey()
      expect(entered).toMatchObject({
        success: true,
        response: { authenticated: true, credential: registered.response.id },
      })
      expect((await service.call('GET', '/users/me', undefined, entered.token)).body.id).toBe(id)
    }

    const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId })
    const [credential] = credentials
    expect(credential).toBeDefined()
    if (credential === undefined) return
    await cdp.send('WebAuthn.clearCredentials', { authenticatorId })
    await cdp.send('WebAuthn.addCredential', { authenticatorId, credential: { ...credential, signCount: 0 } })
    expect(await loginWithKey()).toMatchObject({ code: 'InvalidAssertion' })
    await page.context().close()
  })
}

test('a key that was registered for another page is not asked for here', async () => {
  const id = await service.user('browser-elsewhere')
  const { page } = await openTab('usb')
  const body = { origin: 'https://mail.example.com', rpId: 'mail.example.com', description: 'x' }
  const asked = await service.call('POST', `/users/${id}/2fa/webauthn/registration-challenge`, body)
  expect(await create(page, asked.body.registrationOptions)).toEqual({ refused: 'SecurityError' })
  const here = { ...asked.body.registrationOptions, rp: { id: 'localhost', name: 'x' } }
  const made = await create(page, here)
  const { challenge } = asked.body.registrationOptions
  const path = `/users/${id}/2fa/webauthn/registration-attestation`
  const reply = await service.call('POST', path, { challenge, ...made })
  expect([reply.status, reply.body.code]).toEqual([400, 'InvalidAttestation'])
  await page.context().close()
})
