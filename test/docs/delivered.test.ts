// What deploy/ holds for who runs the service: the unit lets it do what documents say it does, and images set what there is to be set.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { loadConfig } from '#config'

const read = (name: string) => readFileSync(`deploy/${name}`, 'utf8')
const unit = read('teal.service')
const said = (key: string) =>
  [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].flatMap(([, value = '']) => value.split(' '))

test('the unit lets the service ask for the addresses of the machine', () => {
  expect(said('RestrictAddressFamilies')).toEqual(
    expect.arrayContaining(['AF_INET', 'AF_INET6', 'AF_UNIX', 'AF_NETLINK']),
  )
})

test('the unit lets the service write where documents have its backups and its log', () => {
  const [, folder = 'none'] = /^folder = "([^"]+)"/m.exec(readFileSync('docs/backup.md', 'utf8')) ?? []
  expect(said('ReadWritePaths').map(path => path.replace(/^-/, ''))).toContain(folder)
  const [, log = 'none'] = /^\/var\/log\/(\S+)\/\*\.log \{$/m.exec(read('logrotate.conf')) ?? []
  expect(said('LogsDirectory')).toContain(log)
})

test('the image sets what there is, and so do the words it is told to be run with', () => {
  const text = read('Containerfile')
  const given = [...text.matchAll(/\b(TEAL_[A-Z0-9_]+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value])
  expect(given.length).toBeGreaterThan(15)
  const config = loadConfig({ env: Object.fromEntries(given) })
  const exposed = /^EXPOSE (.*)$/m.exec(text)?.[1]?.split(' ').map(Number)
  const listening = (['smtp', 'submission', 'submissions', 'imaps', 'pop3s', 'web', 'api'] as const).map(
    name => config[name],
  )
  for (const { host, port } of listening) expect([host, exposed]).toEqual(['0.0.0.0', expect.arrayContaining([port])])
  // Without TLS it is for this machine alone.
  expect(text).toContain('-p 127.0.0.1:8080:8080')
  expect(read('cluster/compose.yml')).toContain("'127.0.0.1:8080:8080'")
})

test('the folder for data belongs to the user of the image, and so does a new volume', () => {
  const text = read('Containerfile')
  const [, owner, folder] = /^COPY --from=\S+ --chown=(\d+):\d+ \S+ (\S+)$/m.exec(text) ?? []
  expect([folder, text]).toEqual([/^VOLUME (.*)$/m.exec(text)?.[1], expect.stringMatching(/^FROM \S+:nonroot$/m)])
  // The user called nonroot of that base.
  expect(owner).toBe('65532')
})
