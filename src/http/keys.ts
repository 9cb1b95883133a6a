// The section of the configuration that belongs to the HTTP API. What is said here is read by config show and the sample, too.

import { limits } from '#lib/limits.ts'
import { choice, duration, flag, list, notOrigin, secret } from '../config/kinds.ts'
import { listener } from '../config/listener.ts'

const { connectionsMax: sessionsMax, connectionsPerNetworkMax: sessionsPerNetworkMax } = limits.http
const most = { sessionsMax, sessionsPerNetworkMax }

const announced = (what: string) =>
  flag(
    false,
    `Whether the proxies of network.proxyProtocol begin each connection to ${what} with the PROXY protocol, too; ` +
      'Node then speaks HTTP there, whatever api.front says',
  )

export const httpKeys = {
  api: {
    ...listener(8080, 'the HTTP API', most),
    proxyProtocol: announced('this listener'),
    secure: flag(false, 'Whether the API speaks HTTPS, with the certificates of tls'),
    front: choice(
      ['auto', 'uWebSockets.js', 'node:http'],
      'auto',
      'What speaks HTTP: auto is uWebSockets.js on the main thread where it loads; node:http, half as fast, speaks it on the threads that serve (threads), ' +
        'so that calls take nothing from the main one',
    ),
    accessToken: secret(1, 'A token with role root besides the stored ones; may be short on loopback only'),
    accessControl: {
      enabled: flag(true, 'Whether a call needs a token; off means everybody is root, so it is for loopback only'),
      tokenTtl: duration('14d', '1m', '3650d', 'Idle time after which a user token ends'),
      tokenLifetime: duration('180d', '1m', '3650d', 'Age at which a user token ends whatever happens'),
    },
    cors: { origins: list([], "Origins whose pages may call the API; '*' for all that have a token", notOrigin) },
    metrics: {
      enabled: flag(true, 'Whether GET /metrics answers, to every token but those of users and of domains'),
      public: flag(false, 'Whether it answers without a token, too'),
    },
  },
  web: {
    ...listener(8443, 'HTTPS for strangers: set-up of mail programs, the MTA-STS policy, ACME', most),
    enabled: flag(false, 'Whether HTTPS for strangers is served: set-up of mail programs, the MTA-STS policy, ACME'),
    proxyProtocol: announced('this listener and to that of tls.acme.http'),
    api: flag(false, 'Whether the API, its documentation and /metrics answer there, too'),
  },
}
