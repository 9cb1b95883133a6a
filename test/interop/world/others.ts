// A mail server of others, of programs that many have: Postfix takes and sends, rspamd signs what leaves and judges what comes,
// Dovecot keeps it.
//
// It asks for proof where it can be had: DANE of hosts it sends to, DMARC of whoever writes to it, whose policy it heeds.

import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync } from 'node:fs'
import { needPrograms } from '../programs.ts'
import { listening, type Machine, until } from './machine.ts'
import { type Town, trusted } from './town.ts'

export interface Others {
  readonly machine: Machine
  readonly host: string
  /** Hands a message in as a user of the machine. */
  send(from: string, to: string, message: string): Promise<void>
  /** A message of a mailbox that holds a text, once it has come. */
  arrived(address: string, text: string): Promise<string>
  /** Everything in a mailbox. */
  mailbox(address: string): string[]
  log(): string
}

export interface Place {
  readonly town: Town
  readonly machine: Machine
  readonly domain: string
  readonly users: readonly string[]
  /** Address -> where its mail goes on. */
  readonly forwards?: Readonly<Record<string, string>>
}

/** Starts it, and puts its names where everybody finds them. */
export async function startOthers({ town, machine, domain, users, forwards = {} }: Place): Promise<Others> {
  needPrograms('postfix', 'dovecot', 'rspamd')
  needPrograms('../lib/dovecot/lmtp')
  const host = `mx.${domain}`
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  machine.write('/etc/rspamd/own/dkim.key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
  const open = createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).toString('base64')
  const text = (open.match(/.{1,200}/g) ?? []).map(part => `"${part}"`).join(' ')
  await town.names.put(
    `${host}. IN A ${machine.address}`,
    `gmail-smtp-in.l.google.com. IN A ${machine.address}`,
    `${machine.address.split('.').toReversed().join('.')}.in-addr.arpa. IN PTR ${host}.`,
    `${domain}. IN MX 10 ${host}.`,
    `${domain}. IN TXT "v=spf1 mx -all"`,
    `_dmarc.${domain}. IN TXT "v=DMARC1; p=reject; rua=mailto:reports@${domain}"`,
    `own._domainkey.${domain}. IN TXT "v=DKIM1; k=rsa; p=" ${text}`,
  )
  const { key, cert } = await town.authority.issue({ commonName: host, names: [host] })
  machine.write('/etc/postfix/key.pem', key, 0o600)
  machine.write('/etc/postfix/cert.pem', cert)
  writeSettings(machine, { host, domain, users, forwards })
  const rspamd = startRspamd(machine, domain)
  const dovecot = machine.start(['dovecot', '-F', '-c', '/etc/dovecot/own.conf'])
  await listening(machine, 11_332, rspamd)
  await until('Dovecot', async () => readdirSync(machine.path('/run/dovecot')).includes('own-lmtp'), dovecot.output)
  await machine.good(['postfix', '-c', '/etc/postfix', 'start'])
  await listening(machine, 25)
  const log = () => machine.read('/var/log/mail.log') + machine.read('/var/log/dovecot.log')
  const mailbox = (address: string) => {
    const path = machine.path(`/var/vmail/${address}/new`)
    try {
      return readdirSync(path).map(name => machine.read(`/var/vmail/${address}/new/${name}`))
    } catch {
      return []
    }
  }
  return {
    ...{ machine, host, log, mailbox },
    async send(from, to, message) {
      await machine.good(['sendmail', '-i', '-f', from, to], { input: message.replaceAll('\r\n', '\n') })
    },
    arrived: (address, wanted) =>
      until(`mail to ${address}`, async () => mailbox(address).find(one => one.includes(wanted)), log),
  }
}

type Settings = Required<Pick<Place, 'domain' | 'users' | 'forwards'>> & { readonly host: string }

function writeSettings(machine: Machine, { host, domain, users, forwards }: Settings): void {
  const lines = (list: readonly string[]) => list.map(line => `${line}\n`).join('')
  machine.write('/etc/postfix/users', lines(users.map(name => `${name}@${domain} ok`)))
  machine.write('/etc/postfix/forwards', lines(Object.entries(forwards).map(pair => pair.join(' '))))
  machine.write(
    '/etc/postfix/main.cf',
    `compatibility_level = 3.6
myhostname = ${host}
myorigin = ${domain}
mydestination =
mynetworks = 127.0.0.0/8
inet_protocols = ipv4
maillog_file = /var/log/mail.log
alias_maps =
alias_database =
virtual_mailbox_domains = ${domain}
virtual_mailbox_maps = texthash:/etc/postfix/users
virtual_alias_maps = texthash:/etc/postfix/forwards
virtual_transport = lmtp:unix:/run/dovecot/own-lmtp
smtpd_recipient_restrictions = permit_mynetworks, reject_unauth_destination
smtpd_milters = inet:127.0.0.1:11332
non_smtpd_milters = inet:127.0.0.1:11332
milter_default_action = tempfail
smtpd_tls_cert_file = /etc/postfix/cert.pem
smtpd_tls_key_file = /etc/postfix/key.pem
smtpd_tls_security_level = may
smtp_tls_security_level = dane
smtp_dns_support_level = dnssec
smtp_tls_CAfile = ${trusted}
smtp_tls_loglevel = 1
minimal_backoff_time = 5s
queue_run_delay = 5s
biff = no
`,
  )
  const services = [
    'smtp inet n - n - - smtpd',
    'pickup unix n - n 1 1 pickup',
    'cleanup unix n - n - 0 cleanup',
    'qmgr unix n - n 5 1 qmgr',
    'tlsmgr unix - - n 1000? 1 tlsmgr',
    'rewrite unix - - n - - trivial-rewrite',
    ...['bounce', 'defer', 'trace'].map(name => `${name} unix - - n - 0 bounce`),
    'verify unix - - n - 1 verify',
    'flush unix n - n 1000? 0 flush',
    'proxymap unix - - n - - proxymap',
    ...['smtp', 'relay'].map(name => `${name} unix - - n - - smtp`),
    'showq unix n - n - - showq',
    ...['error', 'retry'].map(name => `${name} unix - - n - - error`),
    'lmtp unix - - n - - lmtp',
    'anvil unix - - n - 1 anvil',
    'scache unix - - n - 1 scache',
    'postlog unix-dgram n - n - 1 postlogd',
  ]
  machine.write('/etc/postfix/master.cf', lines(services))
  machine.write(
    '/etc/dovecot/own.conf',
    `protocols = lmtp
base_dir = /run/dovecot
log_path = /var/log/dovecot.log
ssl = no
first_valid_uid = 0
mail_uid = mail
mail_gid = mail
mail_home = /var/vmail/%u
mail_location = maildir:~
auth_username_format = %Lu
userdb {
  driver = static
  args = uid=mail gid=mail home=/var/vmail/%u allow_all_users=yes
}
passdb {
  driver = static
  args = nopassword=y
}
service lmtp {
  unix_listener own-lmtp {
    mode = 0666
  }
}
protocol lmtp {
  postmaster_address = postmaster@${domain}
}
`,
  )
  mkdirSync(machine.path('/run/dovecot'), { recursive: true })
  mkdirSync(machine.path('/var/vmail'))
  chmodSync(machine.path('/var/vmail'), 0o777)
}

/** @returns what it says */
function startRspamd(machine: Machine, domain: string): () => string {
  const say = (name: string, ...lines: string[]) =>
    machine.write(`/etc/rspamd/local.d/${name}`, `${lines.join('\n')}\n`, 0o644)
  say('worker-normal.inc', 'enabled = false;')
  say('worker-controller.inc', 'enabled = false;')
  say('worker-fuzzy.inc', 'enabled = false;')
  say(
    'worker-proxy.inc',
    'bind_socket = "127.0.0.1:11332";',
    'milter = yes;',
    'count = 1;',
    'upstream "local" { default = yes; self_scan = yes; }',
  )
  say('options.inc', 'dns { nameserver = ["127.0.0.1:53"]; enable_dnssec = true; }', 'local_addrs = ["127.0.0.0/8"];')
  say('actions.conf', 'reject = 1000;', 'add_header = 999;', 'greylist = 998;')
  say('milter_headers.conf', 'use = ["authentication-results"];', 'skip_local = false;', 'skip_authenticated = false;')
  say('dmarc.conf', 'actions = { quarantine = "add header"; reject = "reject"; }')
  const key = `domain { ${domain} { selectors [ { selector = "own"; path = "/etc/rspamd/own/dkim.key"; } ] } }`
  say('dkim_signing.conf', 'sign_local = true;', 'allow_hdrfrom_mismatch = true;', 'check_pubkey = false;', key)
  say('arc.conf', 'sign_inbound = true;', 'use_domain = "recipient";', 'allow_hdrfrom_mismatch = true;', key)
  for (const name of ['rbl', 'surbl', 'fuzzy_check', 'phishing', 'asn', 'mx_check', 'neural', 'bayes'])
    say(`${name}.conf`, 'enabled = false;')
  for (const folder of ['lib', 'log']) mkdirSync(machine.path(`/var/${folder}/rspamd`), { recursive: true })
  mkdirSync(machine.path('/run/rspamd'), { recursive: true })
  const daemon = machine.start([
    'sh',
    '-c',
    'chown -R _rspamd /var/lib/rspamd /var/log/rspamd /run/rspamd; chmod -R a+rX /etc/rspamd; exec rspamd -f -u _rspamd -g _rspamd',
  ])
  return () => daemon.output()
}
