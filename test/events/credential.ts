// Scenarios: what opens an account. Logins are told, too, while somebody subscribes.

import { now } from '#lib/clock.ts'
import { decodeBase32, stepMs, totpCode } from '#lib/secret/totp.ts'
import { Dialogue } from '../dialogue.ts'
import { Authenticator } from '../lib/secret/authenticator.ts'
import { scenario, type World } from './world.ts'

async function setUpTotp(world: World) {
  const user = await world.user()
  const { seed } = await world.ok('POST', `/users/${user.id}/2fa/totp/setup`, { issuer: 'Teal' })
  return { ...user, seed: String(seed) }
}

const enable = (world: World, { id, seed }: { id: string; seed: string }) =>
  world.ok('POST', `/users/${id}/2fa/totp/enable`, { token: codeOf(seed) })

function codeOf(seed: string): string {
  return totpCode(decodeBase32(seed) ?? Buffer.alloc(0), Math.floor(now() / stepMs))
}

const page = { origin: 'https://mail.example.com', rpId: 'mail.example.com' }

/** Registers a security key and answers how it is called. */
async function register(world: World, user: string) {
  const base = `/users/${user}/2fa/webauthn`
  const asked = await world.ok('POST', `${base}/registration-challenge`, { ...page, description: 'Blue key' })
  const { challenge } = asked.registrationOptions
  const answer = new Authenticator('ES256').register({ ...page, challenge })
  const { rpId } = page
  const { id, rawId } = await world.ok('POST', `${base}/registration-attestation`, { challenge, ...answer, rpId })
  return { id, rawId, description: 'Blue key', authenticatorAttachment: 'cross-platform' }
}

async function makeAsp(world: World) {
  const { id: user } = await world.user()
  const { id: asp } = await world.ok('POST', `/users/${user}/asps`, { description: 'Old phone' })
  return { user, asp, description: 'Old phone' }
}

export const credentialScenarios = [
  scenario({
    event: 'asp.created',
    name: 'POST /users/:user/asps',
    prepare: world => world.user(),
    async act(world, { id: user }) {
      const { id: asp } = await world.ok('POST', `/users/${user}/asps`, { description: 'Phone', scopes: ['imap'] })
      return { user, asp, description: 'Phone' }
    },
  }),
  scenario({
    event: 'asp.deleted',
    name: 'DELETE /users/:user/asps/:asp',
    prepare: makeAsp,
    async act(world, known) {
      await world.ok('DELETE', `/users/${known.user}/asps/${known.asp}`)
      return known
    },
  }),
  scenario({
    event: 'mfa.totp.enabled',
    name: 'POST /users/:user/2fa/totp/enable',
    prepare: setUpTotp,
    async act(world, user) {
      await enable(world, user)
      return { user: user.id }
    },
  }),
  scenario({
    event: 'mfa.totp.disabled',
    name: 'DELETE /users/:user/2fa/totp',
    async prepare(world) {
      const user = await setUpTotp(world)
      await enable(world, user)
      return user
    },
    async act(world, { id }) {
      await world.ok('DELETE', `/users/${id}/2fa/totp`)
      return { user: id }
    },
  }),
  scenario({
    event: 'mfa.custom.enabled',
    name: 'PUT /users/:user/2fa/custom',
    prepare: world => world.user(),
    async act(world, { id }) {
      await world.ok('PUT', `/users/${id}/2fa/custom`, {})
      return { user: id }
    },
  }),
  scenario({
    event: 'mfa.custom.disabled',
    name: 'DELETE /users/:user/2fa/custom',
    async prepare(world) {
      const user = await world.user()
      await world.ok('PUT', `/users/${user.id}/2fa/custom`, {})
      return user
    },
    async act(world, { id }) {
      await world.ok('DELETE', `/users/${id}/2fa/custom`)
      return { user: id }
    },
  }),
  scenario({
    event: 'mfa.webauthn.registered',
    name: 'POST /users/:user/2fa/webauthn/registration-attestation',
    prepare: world => world.user(),
    act: async (world, { id }) => ({ user: id, credential: await register(world, id) }),
  }),
  scenario({
    event: 'mfa.webauthn.removed',
    name: 'DELETE /users/:user/2fa/webauthn/credentials/:credential',
    async prepare(world) {
      const { id: user } = await world.user()
      return { user, credential: (await register(world, user)).id }
    },
    async act(world, known) {
      await world.ok('DELETE', `/users/${known.user}/2fa/webauthn/credentials/${known.credential}`)
      return known
    },
  }),
  scenario({
    event: 'mfa.disabled',
    name: 'DELETE /users/:user/2fa, one event whatever was on',
    async prepare(world) {
      const user = await setUpTotp(world)
      await enable(world, user)
      await world.ok('PUT', `/users/${user.id}/2fa/custom`, {})
      return user
    },
    async act(world, { id }) {
      await world.ok('DELETE', `/users/${id}/2fa`)
      return { user: id }
    },
  }),
  scenario({
    event: 'authentication.succeeded',
    name: 'POST /authenticate',
    prepare: world => world.user(),
    async act(world, { id, name }) {
      const form = { username: name, password: `secret of ${name}`, protocol: 'Webmail', ip: '192.0.2.1' }
      await world.ok('POST', '/authenticate', form)
      return { user: id, scope: 'master', protocol: 'Webmail', ip: '192.0.2.1' }
    },
  }),
  scenario({
    event: 'authentication.failed',
    name: 'a wrong password over IMAP',
    prepare: world => world.user(),
    async act(world, { id, address }) {
      const imap = await Dialogue.open(world.running.at('imap'))
      await imap.line()
      imap.send(`a LOGIN ${address} wrong\r\n`)
      const reply = await imap.line()
      imap.close()
      if (!reply.startsWith('a NO')) throw new Error(reply)
      return { user: id, scope: 'imap', protocol: 'IMAP', ip: '127.0.0.1', result: 'AuthFailed' }
    },
  }),
]
