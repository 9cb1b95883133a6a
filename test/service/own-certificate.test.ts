// A certificate in files: replaced by whatever renews it, and shown by every listener after that, the API too, without a
// restart.

import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { startTeal, type Teal } from '#service'
import { type Authority, type Issued, openAuthority } from '../net/authority.ts'
import { Wire } from '../net/wire.ts'
import { accessTo } from '../running.ts'

const folder = mkdtempSync(join(tmpdir(), 'teal-own-'))
const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
const most = limits.certificate as { filesMs: number }
const { filesMs } = most
const patience = { timeout: 20_000 }

let root: Authority
let teal: Teal
const { at } = accessTo(() => teal)

const direct = ['imaps', 'pop3s', 'submissions', 'api'] as const
const upgraded = ['smtp', 'lmtp', 'submission', 'imap', 'pop3'] as const

beforeAll(async () => {
  most.filesMs = 20
  root = await openAuthority()
  put(await issue('first'))
  teal = await startTeal({ hostname: 'mx.teal.test', tls: files, api: { secure: true } }, { strict: true })
})

afterAll(async () => {
  await teal.close()
  most.filesMs = filesMs
  rmSync(folder, { recursive: true, force: true })
})

const issue = (commonName: string) => root.issue({ commonName, names: ['mx.teal.test'] })

/** As renewing programs do: new files beside the old ones, then into place. */
function put({ cert, key }: Issued): void {
  for (const [file, text] of [
    [files.key, key],
    [files.cert, cert],
  ] as const) {
    writeFileSync(`${file}.new`, text)
    renameSync(`${file}.new`, file)
  }
}

/** Who each listener says it is, to a client that asks for the host name and to one that asks for nothing. */
async function shown(): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {}
  const names = [{ servername: 'mx.teal.test' }, {}]
  for (const listener of direct) {
    found[listener] = []
    for (const name of names) {
      const wire = await Wire.openTls(at(listener), name)
      found[listener].push(String(wire.tls.getPeerCertificate().subject.CN))
      wire.close()
    }
  }
  for (const listener of upgraded) {
    found[listener] = []
    for (const name of names) {
      const wire = await Wire.open(at(listener))
      await greeted[listener](wire)
      await wire.startTls(name)
      found[listener].push(String(wire.tls.getPeerCertificate().subject.CN))
      wire.close()
    }
  }
  return found
}

const smtp = (hello: string) => async (wire: Wire) => {
  await wire.reply()
  await wire.ask(hello)
  expect(await wire.ask('STARTTLS')).toMatch(/^220/)
}

const line = (command: string, answer: RegExp) => async (wire: Wire) => {
  await wire.line()
  wire.send(`${command}\r\n`)
  expect(await wire.line()).toMatch(answer)
}

const greeted = {
  smtp: smtp('EHLO client'),
  lmtp: smtp('LHLO client'),
  submission: smtp('EHLO client'),
  imap: line('a STARTTLS', /^a OK/),
  pop3: line('STLS', /^\+OK/),
}

const everywhere = (name: string) =>
  Object.fromEntries([...direct, ...upgraded].map(listener => [listener, [name, name]]))

test('is shown by every listener, and read again when its files are replaced', async () => {
  expect(await shown()).toEqual(everywhere('first'))
  put(await issue('second'))
  // The API starts to listen anew, so a connection may be refused for a moment.
  await expect.poll(() => shown().catch(() => ({})), patience).toEqual(everywhere('second'))
})

test('stays as it was while the files do not belong together, or are gone', async () => {
  const [third, fourth] = [await issue('third'), await issue('fourth')]
  put({ key: third.key, cert: fourth.cert })
  const before = await shown()
  rmSync(files.key)
  expect(await shown()).toEqual(before)
  put(third)
  await expect.poll(() => shown().catch(() => ({})), patience).toEqual(everywhere('third'))
})

test('may be behind links, of which only the target changes', async () => {
  const { cert, key } = await issue('linked')
  for (const [file, text] of [
    [files.key, key],
    [files.cert, cert],
  ] as const) {
    writeFileSync(`${file}.live`, text)
    rmSync(file)
    symlinkSync(`${file}.live`, file)
  }
  await expect.poll(() => shown().catch(() => ({})), patience).toEqual(everywhere('linked'))
})

test('a start without it says which file and why', async () => {
  const [one, other] = [await issue('one'), await issue('other')]
  const at = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const [cert, key] = [at('one.pem', one.cert), at('other.key', other.key)]
  const gone = join(folder, 'gone.key')
  await expect(startTeal({ tls: { cert, key: gone } })).rejects.toMatchObject({
    code: 'ConfigInvalid',
    message: expect.stringMatching(new RegExp(`${gone} cannot be read \\(ENOENT\\)`)),
  })
  for (const wrong of [key, at('text.key', 'no key')]) {
    const started = startTeal({ tls: { cert, key: wrong } })
    await expect(started).rejects.toMatchObject({ code: 'CertificateInvalid', message: expect.stringContaining(wrong) })
  }
})
