// Scenarios: certificates, DKIM keys, domains, addresses that only forward, subscriptions themselves.

import { generateKeyPairSync } from 'node:crypto'
import { keyFingerprint, privatePem } from '#lib/secret/private-key.ts'
import { keyOf, openAuthority } from '../net/authority.ts'
import type { Body } from '../running.ts'
import { scenario, type World } from './world.ts'

async function putCertificate(world: World, servername: string): Promise<Body> {
  const authority = await openAuthority()
  const { key, cert } = await authority.issue({ names: [servername] })
  const body = await world.ok('POST', '/certs', { servername, privateKey: key, cert })
  return { cert: body.id, servername, fingerprint: keyFingerprint(keyOf(key)) }
}

async function putDkim(world: World, domain: string, selector: string): Promise<Body> {
  const { privateKey: key } = generateKeyPairSync('ed25519')
  const { id } = await world.ok('POST', '/dkim', { domain, selector, privateKey: privatePem(key) })
  return { dkim: id, domain, selector, fingerprint: keyFingerprint(key) }
}

export const directoryScenarios = [
  scenario({
    event: 'cert.created',
    name: 'POST /certs',
    act: world => putCertificate(world, 'new.example.com'),
  }),
  scenario({
    event: 'cert.updated',
    name: 'POST /certs for a name that has one',
    prepare: world => putCertificate(world, 'again.example.com'),
    act: world => putCertificate(world, 'again.example.com'),
  }),
  scenario({
    event: 'cert.deleted',
    name: 'DELETE /certs/:cert',
    prepare: world => putCertificate(world, 'old.example.com'),
    async act(world, known) {
      await world.ok('DELETE', `/certs/${known.cert}`)
      return known
    },
  }),
  scenario({ event: 'dkim.created', name: 'POST /dkim', act: world => putDkim(world, 'new.example', 's1') }),
  scenario({
    event: 'dkim.updated',
    name: 'POST /dkim for a domain that has one',
    prepare: world => putDkim(world, 'again.example', 's1'),
    act: world => putDkim(world, 'again.example', 's2'),
  }),
  scenario({
    event: 'dkim.deleted',
    name: 'DELETE /dkim/:dkim',
    prepare: world => putDkim(world, 'old.example', 's1'),
    async act(world, known) {
      await world.ok('DELETE', `/dkim/${known.dkim}`)
      return known
    },
  }),
  scenario({
    event: 'domain.created',
    name: 'POST /domains',
    async act(world) {
      await world.ok('POST', '/domains', { name: 'made.example' })
      return { domain: 'made.example' }
    },
  }),
  scenario({
    event: 'domain.updated',
    name: 'PUT /domains/:domain that closes it',
    prepare: world => world.ok('POST', '/domains', { name: 'closing.example' }),
    async act(world) {
      await world.ok('PUT', '/domains/closing.example', { disabled: true })
      return { domain: 'closing.example', disabled: true }
    },
  }),
  scenario({
    event: 'domain.deleted',
    name: 'DELETE /domains/:domain',
    prepare: world => world.ok('POST', '/domains', { name: 'forgotten.example' }),
    async act(world) {
      await world.ok('DELETE', '/domains/forgotten.example')
      return { domain: 'forgotten.example' }
    },
  }),
  scenario({
    event: 'domainalias.created',
    name: 'POST /domainaliases',
    async act(world) {
      const pair = { alias: 'alias.example', domain: 'example.com' }
      const { id } = await world.ok('POST', '/domainaliases', pair)
      return { domainalias: id, ...pair }
    },
  }),
  scenario({
    event: 'domainalias.deleted',
    name: 'DELETE /domainaliases/:alias',
    async prepare(world) {
      const pair = { alias: 'gone.example', domain: 'example.com' }
      return { domainalias: (await world.ok('POST', '/domainaliases', pair)).id, ...pair }
    },
    async act(world, known) {
      await world.ok('DELETE', `/domainaliases/${known.domainalias}`)
      return known
    },
  }),
  scenario({
    event: 'address.forwarded.created',
    name: 'POST /addresses/forwarded',
    async act(world) {
      const value = 'forwarded@example.com'
      const { id } = await world.ok('POST', '/addresses/forwarded', { address: value, targets: ['a@example.net'] })
      return { address: id, value }
    },
  }),
  scenario({
    event: 'address.forwarded.deleted',
    name: 'DELETE /addresses/forwarded/:address',
    async prepare(world) {
      const value = 'no.longer@example.com'
      const { id } = await world.ok('POST', '/addresses/forwarded', { address: value, targets: ['a@example.net'] })
      return { address: id, value }
    },
    async act(world, known) {
      await world.ok('DELETE', `/addresses/forwarded/${known.address}`)
      return known
    },
  }),
  scenario({
    event: 'address.domain.renamed',
    name: 'PUT /addresses/renameDomain, one event whatever goes with it',
    async prepare(world) {
      for (const word of ['one', 'two']) await world.user(word, { address: `${world.unique(word)}@before.example` })
      await world.ok('POST', '/addresses/forwarded', { address: 'f@before.example', targets: ['a@example.net'] })
      await world.ok('POST', '/domainaliases', { alias: 'also-before.example', domain: 'before.example' })
      await putDkim(world, 'before.example', 's1')
    },
    async act(world) {
      const form = { oldDomain: 'before.example', newDomain: 'after.example' }
      const renamed = await world.ok('PUT', '/addresses/renameDomain', form)
      if (renamed.modifiedDkim !== 1 || renamed.modifiedAliases !== 1) throw new Error(JSON.stringify(renamed))
      return { previous: form.oldDomain, current: form.newDomain }
    },
  }),
  scenario({
    event: 'webhook.disabled',
    name: 'an endpoint answers 410',
    async prepare(world) {
      const url = `http://127.0.0.1:${world.hook.port}/gone`
      const { id } = await world.ok('POST', '/webhooks', { type: ['domainalias.created'], url })
      world.hook.behave(({ path }, response) => void response.writeHead(path === '/gone' ? 410 : 200).end())
      return { webhook: id, url, reason: 'gone' }
    },
    async act(world, known) {
      await world.ok('POST', '/domainaliases', { alias: 'told.example', domain: 'example.com' })
      return known
    },
    also: ['domainalias.created', 'domainalias.created'],
  }),
]
