// The alert rules and the dashboard's queries against Prometheus' own checker; a point of a backup against restic.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { restoreBackup } from '#store/upkeep/backup.ts'
import { takePoint } from '#store/upkeep/points.ts'
import { childEnvironment, runTeal } from '../child.ts'
import { useTeal } from '../running.ts'
import { queries, ruleFile } from '../service/queries.ts'
import { folder, good, needPrograms } from './programs.ts'

const service = useTeal()
const place = folder()

beforeAll(() => needPrograms('promtool', 'restic'))
afterAll(() => place.remove())

test('Prometheus takes the rules', async () => {
  const alerts = readFileSync(ruleFile, 'utf8').match(/- alert:/g)?.length ?? 0
  expect(alerts).toBeGreaterThan(1)
  expect(await good('promtool', ['check', 'rules', ruleFile])).toContain(`SUCCESS: ${alerts} rules found`)
})

test('Prometheus finds nothing to say about names, units and helps', async () => {
  const text = await (await service.raw('GET', '/metrics')).text()
  expect(text).toContain('wildduck_info')
  const file = join(place.path, 'metrics.txt')
  writeFileSync(file, text)
  expect(await good('sh', ['-c', `promtool check metrics < '${file}' 2>&1`])).toBe('')
})

test('Prometheus takes every query of the dashboard', async () => {
  const rules = [...queries()].map(([, query], at) => {
    return `  - record: query_${at}\n    expr: ${JSON.stringify(query.replaceAll('$__rate_interval', '5m'))}\n`
  })
  const file = join(place.path, 'queries.yml')
  writeFileSync(file, `groups:\n- name: queries\n  rules:\n${rules.join('')}`)
  expect(await good('promtool', ['check', 'rules', file])).toContain(`SUCCESS: ${rules.length} rules found`)
})

test('a point that restic brought elsewhere and back is whole', async () => {
  await service.user('anna')
  const points = join(place.path, 'points')
  const { dataDir } = service.teal.config
  await takePoint(dataDir, points, { at: new Date(0), keep: 2, gently: false })
  const env = { RESTIC_PASSWORD: 'secret', RESTIC_REPOSITORY: join(place.path, 'elsewhere'), HOME: place.path }
  await good('restic', ['init', '--no-cache'], { env })
  await good('restic', ['backup', '--no-cache', points], { env })
  const back = join(place.path, 'back')
  mkdirSync(back)
  await good('restic', ['restore', '--no-cache', 'latest', '--target', back], { env })
  const restored = join(place.path, 'restored')
  await restoreBackup(join(back, points, '19700101T000000Z'), restored, () => {})
  expect(await runTeal(['verify'], childEnvironment(restored))).toMatchObject({ code: 0 })
})
