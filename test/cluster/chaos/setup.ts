// What the chaos suite needs of Debian's.

import { installed } from '../../../bench/peer/install.ts'
import { serverPrograms } from '../../postgres/cluster.ts'

export function setup(): void {
  if (serverPrograms() === undefined) installed('pg_createcluster', ['postgresql'])
  installed('nats-server', ['nats-server'])
}
