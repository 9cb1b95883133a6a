// Everything a session may use now. COMPRESS and the ways in depend on where it stands.

import { clientTokenMechanism, mechanisms } from '#net/sasl.ts'
import type { Session } from './session.ts'

export function capabilitiesOf(session: Session): string {
  const compress = session.loggedIn && session.compression === 'none' ? ['COMPRESS=DEFLATE'] : []
  return [session.services.capabilities, ...compress, ...waysIn(session)].join(' ')
}

/** What a session may be told about getting in; empty once it is in. */
function waysIn({ services, connection, loggedIn }: Session): string[] {
  if (loggedIn) return []
  const offers = connection.secure || services.tls === undefined ? [] : ['STARTTLS']
  if (!services.takesPasswords(connection)) return [...offers, 'LOGINDISABLED']
  return [...offers, ...[...mechanisms, clientTokenMechanism].map(name => `AUTH=${name}`)]
}
