// The sections of the configuration that belong to SMTP, LMTP and submission, one for each listener. What is said here is read by config show
// and the sample, too.
// A file is named here by its path and read by whoever uses it, at start.

import { limits } from '#lib/limits.ts'
import { choice, count, flag, list, notCidr, notForwarder, notHostname, notServer, path } from '../config/kinds.ts'
import { listener } from '../config/listener.ts'

const loopback = ['127.0.0.0/8', '::1/128']
const privateNetworks = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', 'fc00::/7', 'fe80::/10']
/** Large hosts of mail and lists that seal what they found and are known to say the truth. */
const knownSealers = ['google.com', 'microsoft.com', 'fastmail.com', 'messagingengine.com', 'pobox.com', 'topicbox.com']

export const smtpKeys = {
  smtp: {
    ...listener(1025, 'SMTP for incoming mail', limits.smtp),
    authenticate: flag(true, 'Whether SPF, DKIM, ARC and DMARC are looked at where a stranger brings mail'),
    dmarc: choice(
      ['note', 'heed'],
      'heed',
      'What a DMARC failure leads to: it is noted, or what the sender domain asks for is done (refuse, junk)',
    ),
    unjudged: list(
      [...loopback, ...privateNetworks],
      'Networks that are no strangers: mail from there is not looked at; unset: loopback and private networks',
      notCidr,
    ),
    forwarders: list(
      [],
      'Who may bring mail of others: networks, or domains proven by SPF; DMARC failures are noted only',
      notForwarder,
    ),
    arcSealers: list(
      knownSealers,
      'Domains whose ARC seals are believed: what proved its author when it came to them is not refused',
      notHostname,
    ),
    bimi: flag(true, 'Whether marks of domains (BIMI) are looked up, fetched and shown with their mail'),
    bimiAuthorities: path('', 'Certificates in PEM of authorities for marks instead of the known ones'),
    bimiCa: path('', 'Certificates in PEM to trust when marks are fetched instead of the public ones'),
    stsMode: choice(
      ['none', 'testing', 'enforce'],
      'none',
      'How strictly others are told to send over TLS that proves hostname (MTA-STS); served over HTTPS for mta-sts.<domain>',
    ),
    greylist: flag(true, 'Whether mail of hosts that something speaks against has to come a second time'),
    networkMessages: count(
      5000,
      0,
      100_000_000,
      'Messages of strangers taken from one network (/24, /64) in an hour; 0: any number',
    ),
    organizationMessages: count(
      50_000,
      0,
      100_000_000,
      'Messages of strangers taken in an hour from all hosts whose reverse names are in one registered domain; 0: any number',
    ),
    dnsServers: list(
      [],
      'DNS servers (address or address:port) asked for that; unset: those of network, else of the system',
      notServer,
    ),
  },
  lmtp: listener(2424, 'LMTP', limits.smtp),
  submission: listener(1587, 'submission with STARTTLS', limits.smtp),
  submissions: listener(1465, 'submission over TLS', limits.smtp),
}
