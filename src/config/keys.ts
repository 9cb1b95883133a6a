// Every key an operator can set, with its kind, default, bounds and one line of explanation: the one table from which
// the typed Config, its checks, `config show` and the sample file come.
//
// Section and key names are what a TOML file holds (`[api.accessControl]`, `enabled = true`) and, in upper snake case
// behind TEAL_, the environment (`TEAL_API_ACCESS_CONTROL_ENABLED`). A key that nobody reads does not belong here.

import { hostname as osHostname } from 'node:os'
import {
  bucket,
  choice,
  count,
  countOrAuto,
  database,
  duration,
  flag,
  hostname,
  list,
  notCidr,
  notFetched,
  notHostname,
  notList,
  notServer,
  path,
  port,
  secret,
  server,
  size,
  socket,
  sourceAddress,
  url,
  words,
} from './kinds.ts'
import { protocolKeys } from './protocols.ts'

/** Where a mail program is told to find a service; empty and 0 mean this service's own. */
function setup(portInitial: number, what: string) {
  return {
    host: hostname('', true, `Host name mail programs are told for ${what}; unset: hostname`),
    port: port(portInitial, `Port mail programs are told for ${what}`),
    security: choice(['tls', 'starttls', 'none'], 'tls', `How mail programs are told to secure ${what}`),
  }
}

/** The order is the order in which `config show` and the sample file print. */
export const keys = {
  dataDir: path('data', 'Folder for everything the service writes'),
  threads: countOrAuto(
    'auto',
    0,
    64,
    'Threads that serve mail protocols, and HTTP where api.front is node:http, beside the main one; 0: the main one serves them; auto: none on one core or with less than 512 MB of memory, else one less than cores, eight at most',
  ),
  store: {
    url: database(
      'PostgreSQL database that holds everything in place of a file in dataDir, such as postgres://teal:password@db.example.com/teal; unset: that file',
    ),
  },
  bodies: {
    url: bucket(
      'S3-compatible store for parts of messages above 256 KB, beside store.url: s3://bucket/prefix at Amazon, https://s3.example.com/bucket/prefix elsewhere; unset: they are in the database',
    ),
    region: words('us-east-1', 'Region of that store, as it wants calls signed'),
    accessKey: secret(1, 'Name of the key that may get, put, delete and list there'),
    secretKey: secret(1, 'That key'),
    ca: path('', 'Certificates in PEM to trust for that store instead of the public ones'),
    keepDays: count(
      14,
      1,
      365,
      'Days that an object stays which no row of the database names any more: one that is brought back to a moment within them is whole',
    ),
  },
  cluster: {
    node: words(
      '',
      'Name of this node where several share the database of store.url, each with another; unset: it is alone',
    ),
    nats: secret(
      1,
      'NATS servers that carry what nodes ask and tell each other, such as nats://user:password@nats.example.com; several with commas',
    ),
    ca: path(
      '',
      'Certificates in PEM to trust for those servers instead of the public ones; they are asked over TLS then',
    ),
  },
  hostname: hostname(ownHostname, false, 'Name of this machine in greetings, trace headers and certificates'),

  ...protocolKeys,

  tls: {
    cert: path('', 'Certificate chain in PEM; unset: self-signed for hostname, made at first start'),
    key: path('', 'Private key of tls.cert in PEM'),
    minVersion: choice(['TLSv1.2', 'TLSv1.3'], 'TLSv1.2', 'Oldest TLS version that is spoken'),
    acme: {
      enabled: flag(false, 'Whether certificates are fetched and renewed by ACME (RFC 8555), proven over HTTP'),
      directory: url(
        'https://acme-v02.api.letsencrypt.org/directory',
        ['https', 'http'],
        'Directory of the ACME server; unencrypted on loopback only',
      ),
      ca: path('', 'Certificates in PEM to trust for the directory instead of the public ones'),
      email: words('', 'Address the ACME server may write to'),
      bindingKeyId: words(
        '',
        'Name of the key that binds to an account the ACME server knows already, where it wants one',
      ),
      bindingKey: secret(16, 'That key, in base64 (external account binding)'),
      termsAgreed: flag(false, "Whether the ACME server's terms of service are agreed to; needed"),
      names: list([], 'Names that each get a certificate; unset: hostname', notFetched),
      renewDays: count(
        30,
        1,
        365,
        'Days before its end at which a certificate is renewed, at most a third of its life',
      ),
      keyType: choice(['ec256', 'ec384', 'rsa2048', 'rsa4096'], 'ec256', 'Kind of key certificates get'),
      http: socket(
        '',
        'Where challenges are answered over plain HTTP, the rest sent to HTTPS; unset: by the API alone',
      ),
    },
  },

  auth: {
    strict2fa: flag(true, 'Whether a login with a second factor gives nothing before that factor is shown'),
    credentialCache: flag(true, 'Whether a password that was just verified is recognised without hashing again'),
    freshLogin: duration(
      '15m',
      '0s',
      '1d',
      'How long after a login its token may change credentials without the password',
    ),
    cleartext: choice(
      ['loopback', 'never', 'always'],
      'loopback',
      'From where a password is taken over a connection without TLS',
    ),
    trustedNetworks: list(
      [],
      'Address ranges (CIDR) whose failed logins are counted for accounts but not for the network: a proxy or web mail ' +
        'through which strangers come, 127.0.0.0/8 for one on this machine',
      notCidr,
    ),
    totpIssuer: words('Teal', 'Name that authenticator apps show'),
    totpSecret: secret(16, 'Encrypts TOTP seeds at rest; unset: a key file made in dataDir at first start'),
    webauthn: {
      rpId: hostname('', true, 'Relying party id of security keys; unset: hostname'),
      rpName: words('Teal', 'Name that browsers show when a security key is asked for'),
    },
    pwned: {
      enabled: flag(false, 'Whether passwords are looked up in lists of breached ones, by five digits of their hash'),
      type: choice(
        ['softfail', 'fail', 'hardfail', 'none'],
        'softfail',
        'softfail tells, fail refuses, hardfail refuses also when nobody answers, none does nothing',
      ),
      apiUrl: url('https://api.pwnedpasswords.com', ['https', 'http'], 'Base URL of the range protocol'),
      timeout: duration('1s', '100ms', '30s', 'Time the lookup may take'),
    },
  },

  mail: {
    postmaster: words(
      '',
      'Address of the account that gets mail to postmaster@ and abuse@ where nobody made them; unset: who looks after the domain, else its first',
    ),
    defaultDomain: hostname('', true, 'Domain of users made without an address; unset: hostname'),
    maxSize: size('64MB', '64KB', '64MB', 'Largest message that is taken in'),
    welcomeDir: path(
      '',
      'Folder of messages (*.eml) for new users; {name}, {username}, {address}, {date}, {id} are filled in',
    ),
    classificationHeaders: flag(
      true,
      'Whether headers on top say how a message was judged, where it was; those of strangers are taken out in any case',
    ),
  },
  quota: {
    storage: size('1GB', '1MB', '1024TB', 'Storage of a user without an own quota'),
    recipients: count(2000, 0, 10_000_000, 'Recipients a user may write to in a day'),
    forwards: count(2000, 0, 10_000_000, 'Messages forwarded for a user in a day'),
  },

  spam: {
    rspamd: url('', ['http', 'https'], 'rspamd that is asked about mail that comes in (its worker); unset: none'),
    rspamdController: url(
      '',
      ['http', 'https'],
      'Its controller, told what users move into and out of Junk; unset: none',
    ),
    rspamdPassword: secret(1, 'Password of that controller'),
    clamd: server('clamd that looks for viruses: address and port, or the path of its socket; unset: none'),
    blockLists: list(
      [],
      'Lists in DNS of hosts to distrust (zone or zone=points, 30 unless told); off behind a public resolver',
      notList,
    ),
    allowLists: list([], 'Lists in DNS of hosts to trust (zone or zone=points, -20 unless told)', notList),
    uriLists: list([], 'Lists in DNS of domains that spam links to (zone or zone=points, 30 unless told)', notList),
    classifier: flag(
      true,
      'Whether what users move into and out of Junk is learned and counts in the score; off where another filter is to decide alone',
    ),
    relays: list([], 'Ranges (CIDR) of relays in front whose X-Spam fields are heeded', notCidr),
  },
  outbound: {
    enabled: flag(true, 'Whether mail leaves the service; off keeps what is for others queued'),
    relay: url('', ['smtp', 'smtps'], 'Relay that takes all outgoing mail; unset: straight to the MX hosts'),
    port: port(25, 'Port of MX hosts'),
    dane: flag(true, 'Whether TLSA records of hosts are heeded where DNS is proven (DANE)'),
    source: sourceAddress(
      'Address of this machine that mail leaves from; hosts of the other family are then not reached; unset: any',
    ),
  },
  dkim: {
    automatic: flag(true, 'Whether every local domain gets keys of its own, which sign once DNS shows them'),
  },
  reports: {
    tls: flag(true, 'Whether domains that ask for it are told how TLS with their hosts went (TLS-RPT)'),
    dmarc: flag(true, 'Whether domains that ask for it are told of mail in their name (DMARC aggregate reports)'),
  },
  forward: {
    srsDomain: hostname('', true, 'Domain of rewritten senders (SRS); unset: mail.defaultDomain'),
    srsSecret: secret(16, 'Signs rewritten senders; unset: a key file made in dataDir at first start'),
    loopSecret: secret(16, 'Signs the header that finds loops; unset: a key file made in dataDir at first start'),
  },
  webhooks: {
    enabled: flag(true, 'Whether events are delivered; off lets them gather'),
    timeout: duration('30s', '100ms', '30s', 'Time an endpoint may take to answer'),
  },
  network: {
    allowPrivate: list([], 'Private ranges (CIDR) that webhooks, forwards, relays and MX may reach', notCidr),
    dnsServers: list(
      [],
      'DNS servers (address or address:port) asked for hosts that mail and webhooks go to; what they prove (DNSSEC) is believed; ' +
        'unset: those of the system, believed where they are on loopback',
      notServer,
    ),
    proxies: list(
      ['127.0.0.0/8', '::1/128'],
      'Ranges (CIDR) of proxies and web mail through which everybody may come: no bound on connections from one of them; ' +
        'of HTTP those who are believed what network.forwarded says, and by X-Forwarded-Proto whether TLS was spoken',
      notCidr,
    ),
    forwarded: choice(
      ['none', 'X-Forwarded-For', 'Forwarded'],
      'none',
      'Header of HTTP in which network.proxies say who is behind them; name only one that each of them writes or extends ' +
        'itself, since what it passes on as it came is the word of a stranger',
    ),
    proxyProtocol: list(
      [],
      'Ranges (CIDR) of proxies that begin each connection to a mail listener with the PROXY protocol (1 or 2), and must; ' +
        'to listeners of HTTP where api.proxyProtocol or web.proxyProtocol says so',
      notCidr,
    ),
  },

  setup: { imap: setup(993, 'IMAP'), pop3: setup(995, 'POP3'), smtp: setup(465, 'sending') },
  mobileconfig: {
    identifier: words('teal.mail', 'Payload identifier of Apple profiles; the user id is appended'),
    displayName: words('Mail for {email}', 'Name of the profile'),
    displayDescription: words('Sets up mail for {email} on this device', 'Description of the profile'),
    accountDescription: words('{email}', 'Name of the account in the mail program'),
    organization: words('Teal', 'Organization of the profile'),
    cert: path('', 'Certificate that signs profiles; unset: that of tls'),
    key: path('', 'Private key of mobileconfig.cert'),
  },

  backup: {
    folder: path('', 'Folder in which backups are kept, best on another disk; unset: none are taken'),
    every: duration('1d', '1h', '365d', 'Time from one backup to the next'),
    keep: count(7, 1, 10_000, 'Backups that are kept; the oldest go'),
  },
  import: { uploaders: count(1, 1, 64, 'Users whose mail is imported at once') },
  pool: {
    passwordThreads: count(0, 0, 256, 'Threads that hash passwords; 0: one for each processor'),
    patternThreads: count(1, 1, 64, 'Threads that match filter patterns'),
    readThreads: count(1, 1, 64, 'Threads for long reads such as searches'),
  },
  tracing: {
    endpoint: url(
      '',
      ['http', 'https'],
      'Where spans of messages and calls are posted (OTLP/HTTP in JSON), such as http://127.0.0.1:4318/v1/traces; unset: nowhere',
    ),
    authorization: secret(1, "What the collector is told in Authorization, such as 'Bearer …'"),
    sample: count(
      100,
      0,
      100,
      'Of a hundred messages and calls, how many are traced; who calls with traceparent decides for himself',
    ),
  },
  log: {
    level: choice(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'], 'info', 'What is logged'),
    format: choice(['auto', 'json', 'readable'], 'auto', 'How lines look; auto: readable on a terminal, else JSON'),
    file: path('', 'File that lines are added to, opened anew at SIGHUP; unset: standard output'),
  },
}

/** The name the operating system has for this machine, or 'localhost' where that is no host name. */
function ownHostname(): string {
  const name = osHostname().toLowerCase()
  return notHostname(name) === undefined ? name : 'localhost'
}
