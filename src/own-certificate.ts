// The certificate that every listener shows where none was put in for the name it is asked by; made where nobody chose one.
//
// Where it comes from files, these are looked at again and again, and whoever follows gets what they hold after a change,
// once key and certificate belong together: the listeners of mail and the API alike.

import { readFileSync } from 'node:fs'
import type { Config } from '#config'
import type { Closers, Core } from '#core'
import { Fault } from '#lib/fault.ts'
import { watchPair } from '#net/tls/pair-files.ts'
import { selfSigned } from '#net/tls/self-signed.ts'
import { type KeyPair, secureContext } from '#net/tls/tls.ts'

/** The certificate of the configuration, or the one made for the host name at first start. */
export async function ownCertificate(config: Config): Promise<{ pair: KeyPair; chosen: boolean }> {
  const { cert, key } = config.tls
  const chosen = cert !== '' && key !== ''
  if (!chosen) return { pair: await selfSigned(config.dataDir, config.hostname), chosen }
  return { pair: { cert: readPem(cert), key: readPem(key) }, chosen }
}

/** @throws Fault ConfigInvalid where there is nothing, or it is not for us to read */
function readPem(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const text = `The certificate or key in ${file} cannot be read (${code}): it has to be there, and readable for the user that this runs as`
    throw new Fault('ConfigInvalid', { text, cause: error })
  }
}

/** @throws Fault CertificateInvalid that names the files */
function requireGood(pair: KeyPair, { cert, key, minVersion }: Config['tls']): void {
  try {
    secureContext(pair, minVersion)
  } catch (error) {
    const text = `tls.cert (${cert}) and tls.key (${key}) are no certificate and key that belong together, in PEM`
    throw new Fault('CertificateInvalid', { text, cause: error })
  }
}

/** What is told of a new default certificate: a TlsStore, or what a listener of another kind has instead. */
interface DefaultSink {
  update(names: readonly string[], key: string, cert: string): void
}

/** The own certificate for those who show it for as long as the service runs. */
export interface OwnCertificate {
  readonly pair: KeyPair
  readonly chosen: boolean
  follow(sink: DefaultSink): void
}

export async function openOwnCertificate({ config, log }: Core, closers: Closers): Promise<OwnCertificate> {
  const sinks: DefaultSink[] = []
  const { cert, key } = config.tls
  if (cert !== '' && key !== '') {
    const renew = (pair: KeyPair) => {
      secureContext(pair, config.tls.minVersion)
      for (const sink of sinks) sink.update([''], pair.key, pair.cert)
      log.info('the certificate in tls.cert was renewed')
    }
    const refused = (error: unknown) => log.warn({ error }, 'the certificate in tls.cert was not taken')
    // Before the files are read, so that no change falls between.
    const watch = watchPair({ cert, key }, renew, refused)
    closers.add(() => watch.close())
  }
  const own = await ownCertificate(config)
  if (own.chosen) requireGood(own.pair, config.tls)
  return { ...own, follow: sink => void sinks.push(sink) }
}
