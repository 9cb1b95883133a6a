// What the system's refusal to listen means to whoever runs the service.

import { expect, test } from 'vitest'
import { unusable } from '#net/listener.ts'

test.each([
  ['EADDRINUSE', 'PortInUse', 'in use already'],
  ['EACCES', 'ConfigInvalid', 'CAP_NET_BIND_SERVICE'],
  ['EMFILE', 'ConfigInvalid', 'ulimit -n'],
  ['EAFNOSUPPORT', 'ConfigInvalid', 'no addresses of that kind'],
  ['EUNHEARD', 'ConfigInvalid', 'EUNHEARD'],
])('%s', (code, fault, said) => {
  const refused = unusable('127.0.0.1', 25, Object.assign(new Error('listen'), { code }))
  expect(refused).toMatchObject({ code: fault, message: expect.stringContaining(said) })
  expect(refused.message).toMatch(/^Port 25 on 127\.0\.0\.1 /)
})
