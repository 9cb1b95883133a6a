// The certificate that every listener shows where none was put in for the name it is asked by; made where nobody chose one.

import { readFileSync } from 'node:fs'
import type { Config } from '#config'
import { selfSigned } from '#net/self-signed.ts'
import type { KeyPair } from '#net/tls.ts'

/** The certificate of the configuration, or the one made for the host name at first start. */
export async function ownCertificate(config: Config): Promise<{ pair: KeyPair; chosen: boolean }> {
  const { cert, key } = config.tls
  const chosen = cert !== '' && key !== ''
  if (!chosen) return { pair: await selfSigned(config.dataDir, config.hostname), chosen }
  return { pair: { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }, chosen }
}
