// What the endpoints of the HTTP API need, family by family, taken from the core.
//
// Each family gets the doors and functions it uses and nothing else (http/api/endpoints.ts says which). Nothing here decides
// anything: rules are the actors', shapes the endpoints'.

import { Composing } from '#actors/compose/composing.ts'
import { Allowance } from '#actors/sending/allowance.ts'
import { DomainDns } from '#actors/status/domain-dns.ts'
import type { Core } from '#core'
import type { DailyCounters, PasswordMaker } from '#http/api/accounts/users.ts'
import type { ProfileForm } from '#http/api/auth/application-passwords.ts'
import type { ApiDeps } from '#http/api/endpoints.ts'
import type { MessageDeps } from '#http/api/messages/message-deps.ts'
import { autoconfigOf } from '#http/api/service/autoconfig.ts'
import { eventForms } from '#http/document/event-forms.ts'
import type { Backups } from '#jobs/tasks/backups.ts'
import type { Tasks } from '#jobs/tasks/tasks.ts'
import { version } from '#lib/build-info.ts'
import { tailOf } from '#lib/log.ts'
import { knownHash } from '#lib/secret/form.ts'
import { tokenDigest } from '#lib/secret/token.ts'
import { callerOf } from '#protocols/http'
import { ownCertificate } from './own-certificate.ts'

export function apiDeps(core: Core, tasks: Tasks, backups?: Backups): ApiDeps {
  const { system, settings, config, metrics, log, read, credentials } = core
  const defaultDomain = config.mail.defaultDomain || config.hostname
  const passwords = passwordMaker(core)
  const counters = dailyCounters(core)
  return {
    ...credentialDeps(core, passwords),
    users: {
      ...{ system, settings, defaultDomain, passwords, counters, tasks },
      ...{ reads: core.reads, welcome: core.welcome, authLog: credentials.authLog },
      fresh: { system, authentication: credentials.authentication, freshMs: config.auth.freshLogin },
      renewToken: (token, authVersion) => core.access.renew(tokenDigest(token), authVersion),
      imapConnections: user => core.places.count(user),
    },
    removal: { system, tasks, authLog: credentials.authLog },
    updates: { system, grants: credentials.grants },
    addresses: { system, authLog: credentials.authLog },
    directory: { system, settings, counters, reads: core.reads },
    forwarded: { system, settings, counters },
    addressBook: { system, addressBook: core.addressBook },
    contacts: { system, addressBook: core.addressBook },
    domains: { system },
    managedDomains: { system, settings, reads: core.reads },
    mailboxes: { system, tasks },
    storage: { system, bodies: core.bodies },
    settings: { system, settings },
    messages: messageDeps(core, tasks),
    filters: {
      ...{ system, settings, rules: core.rules, bodies: core.bodies, sequence: core.sequence },
      authLog: credentials.authLog,
    },
    autoreply: { system },
    outbound: { system },
    tasks: { system, tasks },
    imports: { ...core, tasks, messageBytesMax: config.mail.maxSize },
    webhooks: { handle: core.webhooks, read },
    transfer: { transfer: core.transfer },
    audit: { system, bodies: core.bodies, tasks },
    autoconfig: autoconfigOf(config),
    certificates: { handle: core.certificates, read, fetches: config.tls.acme.enabled },
    challenges: core.acme.challenges,
    dkim: { handle: core.dkim, read },
    domainKeys: { keys: core.signingKeys },
    reports: { read },
    health: healthDeps(core),
    metrics: {
      registry: { contentType: metrics.registry.contentType, metrics: () => metrics.text() },
      ...config.api.metrics,
      log,
    },
    tokens: { system, access: core.access, authLog: credentials.authLog, log },
    figures: { read },
    logLines: { tail: tailOf(log) },
    configuration: { config, settings },
    backups: { ...config.backup, backups },
    domainDns: { domains: new DomainDns(config, read) },
    documentation: { version, events: eventForms },
  }
}

/** Hashing is the pools'; nothing on this thread computes a hash. */
function passwordMaker({ pools, credentials }: Core): PasswordMaker {
  return {
    hash: (password, signal) => pools.passwords.hash(password, { signal }),
    verify: (password, hash, signal) => pools.passwords.verify(password, hash, { signal }),
    known: knownHash,
    refuseBreached: password => credentials.pwned.refuseKnown(password),
  }
}

function dailyCounters({ cache }: Core): DailyCounters {
  return {
    read(name, user) {
      const { used, ttlMs } = cache.counted(name, user)
      return { used, ttl: ttlMs === 0 ? false : Math.ceil(ttlMs / 1000) }
    },
    reset: (name, user) => cache.remove(name, user),
  }
}

function healthDeps({ log, read, writer, cache, cluster }: Core): ApiDeps['health'] {
  return {
    version,
    log,
    storePing: async () => read.prove(),
    storeWrite: () => writer.prove(),
    cachePing: async () => cache.ping(),
    cacheWrite: () => cache.check(),
    ...(cluster !== undefined && { cluster: () => cluster.state }),
  }
}

type CredentialDeps = Pick<
  ApiDeps,
  | 'authentication'
  | 'authLog'
  | 'sessions'
  | 'secondFactor'
  | 'webAuthn'
  | 'pageSession'
  | 'applicationPasswords'
  | 'passwordReset'
>

function credentialDeps(core: Core, passwords: PasswordMaker): CredentialDeps {
  const { system, settings, config, access } = core
  const { authentication, logins, codes, securityKeys, authLog } = core.credentials
  const shared = { system, authentication, authLog, freshMs: config.auth.freshLogin }
  return {
    authentication: { authentication, logins, revoke: hash => access.revoke(hash) },
    authLog: { system, authLog },
    sessions: {
      ...{ system, authLog, revoke: hash => access.revoke(hash) },
      connections: user => core.places.count(user),
    },
    secondFactor: { ...shared, codes, issuer: config.auth.totpIssuer },
    webAuthn: { ...shared, securityKeys },
    pageSession: {
      ...{ system, access, authLog, authentication, logins, codes, securityKeys },
      log: core.log,
      identify: async token => callerOf(await access.identify(token)),
      revoke: hash => access.revoke(hash),
      name: (hash, label) => access.name(hash, label),
      lifetimeMs: config.api.accessControl.tokenLifetime,
    },
    applicationPasswords: {
      ...shared,
      ...{ settings, passwords },
      profile: (form, signal) => signedProfile(core, form, signal),
    },
    passwordReset: { system, authLog, passwords },
  }
}

/** A profile for phones: the account's part of it, and where mail programs are told to find this service. */
async function signedProfile(core: Core, form: ProfileForm, signal: AbortSignal): Promise<Uint8Array> {
  const { config, pools } = core
  const { mobileconfig, setup, hostname } = config
  const own = mobileconfig.cert !== '' && mobileconfig.key !== ''
  const { cert, key } = (await ownCertificate(own ? { ...config, tls: { ...config.tls, ...mobileconfig } } : config))
    .pair
  const filled = (text: string) => text.replaceAll('{email}', form.address).replaceAll('{name}', form.name)
  const server = ({ host, port, security }: typeof setup.imap) => {
    return { host: host || hostname, port, tls: security !== 'none' }
  }
  const profile = {
    identifier: `${mobileconfig.identifier}.${form.user}`,
    displayName: form.description || filled(mobileconfig.displayName),
    description: filled(mobileconfig.displayDescription),
    organization: filled(mobileconfig.organization),
    accountDescription: filled(mobileconfig.accountDescription),
    accountName: form.name,
    ...{ address: form.address, password: form.password },
    incoming: { kind: form.incoming, ...server(setup[form.incoming]) },
    outgoing: server(setup.smtp),
    ...{ certificate: cert, privateKey: key },
  }
  return pools.keys.run('profile', profile, { signal, turnKey: form.user })
}

function messageDeps(core: Core, tasks: Tasks): MessageDeps {
  const { system, bodies, reads, sequence, settings, counters, addressBook, journal } = core
  const { hostname, mail } = core.config
  const shared = { system, bodies, reads, sequence, settings }
  const counted = { counters, hostname, postmaster: mail.postmaster, log: core.log }
  const allowance = new Allowance({ ...shared, ...counted })
  const forward = { throttle: counters, keys: core.forwardKeys, allowance }
  return {
    ...shared,
    tasks,
    forward,
    journal,
    composing: new Composing({ ...shared, hostname, allowance, addressBook }),
  }
}
