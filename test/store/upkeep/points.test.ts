// Backups of several moments: what a further one costs, how many are kept, that each is whole; and those that come by themselves.

import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { lookAtBackups } from '#cli/inspect/running.ts'
import { advanceClock, shiftClock } from '#lib/clock.ts'
import { startTeal } from '#service'
import { lock } from '#store/engine/sqlite/handle.ts'
import { restoreBackup } from '#store/upkeep/backup.ts'
import { listPoints, takePoint } from '#store/upkeep/points.ts'
import { childEnvironment, runTeal } from '../../child.ts'
import { deliver, openLmtp } from '../../dialogue.ts'
import { threads, useTeal } from '../../running.ts'

const service = useTeal()
const root = mkdtempSync(join(tmpdir(), 'teal-points-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const day = (number: number) => new Date(Date.UTC(2026, 0, number))

/** A message whose attachment is a file of its own. */
async function large(mark: string): Promise<void> {
  const noise = randomBytes(600_000)
  const encoded = noise.toString('base64').replace(/.{76}/g, '$&\r\n')
  const head = `Subject: ${mark}\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n`
  const lmtp = await openLmtp(service.at('lmtp'))
  const [reply] = await deliver(lmtp, 'a@example.org', ['anna@example.com'], Buffer.from(`${head}${encoded}\r\n`))
  expect(reply).toMatch(/^250/)
  lmtp.close()
}

test('a further point adds what is new, shares the rest, and each is restored as it was', async () => {
  await service.user('anna')
  const { dataDir } = service.teal.config
  const folder = join(root, 'points')
  const how = { keep: 2, gently: false }
  await large('a')
  const first = await takePoint(dataDir, folder, { ...how, at: day(1) })
  expect(first).toMatchObject({ files: 1, added: 1, dropped: [] })
  const again = await takePoint(dataDir, folder, { ...how, at: day(2) })
  expect(again).toMatchObject({ files: 1, added: 0 })
  await large('b')
  const third = await takePoint(dataDir, folder, { ...how, at: day(3) })
  expect(third).toMatchObject({ files: 2, added: 1, dropped: ['20260101T000000Z'] })
  expect((await listPoints(folder)).map(({ name }) => name)).toEqual(['20260103T000000Z', '20260102T000000Z'])
  const files = (point: string) => {
    const blobs = join(point, 'blobs')
    return readdirSync(blobs, { recursive: true })
      .map(name => statSync(join(blobs, String(name))))
      .filter(found => found.isFile())
      .map(({ ino }) => ino)
  }
  expect(files(third.point)).toEqual(expect.arrayContaining(files(again.point)))
  for (const [point, messages] of [
    [again.point, 1],
    [third.point, 2],
  ] as const) {
    expect(await runTeal(['verify', '--backup', point], childEnvironment(dataDir))).toMatchObject({ code: 0 })
    const restored = join(root, `restored-${messages}`)
    await restoreBackup(point, restored, () => {})
    const shown = await runTeal(['user', 'show', 'anna', '--json'], childEnvironment(restored))
    expect(JSON.parse(shown.out).mailboxes.find((one: { path: string }) => one.path === 'INBOX').total).toBe(messages)
  }
})

test('one that broke off is no point, and the next goes on with it', async () => {
  const folder = join(root, 'broken')
  mkdirSync(join(folder, 'unfinished', 'blobs'), { recursive: true })
  writeFileSync(join(folder, 'unfinished', 'teal-0.db'), 'half')
  expect(await listPoints(folder)).toEqual([])
  await takePoint(service.teal.config.dataDir, folder, { at: day(1), keep: 1, gently: false })
  expect(readdirSync(folder).filter(name => name !== 'lock' && !name.startsWith('lock-'))).toEqual(['20260101T000000Z'])
  expect(readdirSync(join(folder, '20260101T000000Z'))).not.toContain('teal-0.db')
})

test('one that is taken by hand drops none that the service keeps', async () => {
  const { dataDir } = service.teal.config
  const folder = join(root, 'by-hand')
  for (let at = 1; at <= 9; at += 1) await takePoint(dataDir, folder, { at: day(at), keep: 10, gently: false })
  const env = childEnvironment(dataDir, { TEAL_BACKUP_KEEP: '9', TEAL_BACKUP_FOLDER: folder })
  expect(await runTeal(['backup', '--to', folder], env)).toMatchObject({ code: 0 })
  expect((await listPoints(folder)).map(({ name }) => name).slice(1)).toEqual(
    [9, 8, 7, 6, 5, 4, 3, 2].map(number => `2026010${number}T000000Z`),
  )
})

test('one that root takes in a folder of the service is the service’s', async () => {
  const { dataDir } = service.teal.config
  const [theirs, folder] = [join(root, 'theirs'), join(root, 'theirs-kept')]
  const { point } = await takePoint(dataDir, folder, { at: day(1), keep: 1, gently: false })
  await restoreBackup(point, theirs, () => {})
  const self = process.geteuid?.()
  const owner = self === 0 ? 65_534 : self
  chmodSync(root, 0o711)
  if (owner !== undefined && owner !== self)
    for (const path of [folder, ...inside(folder), theirs, ...inside(theirs)]) chownSync(path, owner, owner)
  const taken = await runTeal(['backup', '--to', folder, '--keep', '1'], childEnvironment(theirs))
  expect(taken).toMatchObject({ code: 0 })
  expect((await listPoints(folder)).map(one => one.name)).not.toContain('20260101T000000Z')
  expect(new Set(inside(folder).map(path => lstatSync(path).uid))).toEqual(new Set([owner]))
})

/** Paths of all that lies in a folder, however deep. */
const inside = (folder: string) => readdirSync(folder, { recursive: true }).map(name => join(folder, String(name)))

test('a clock that was wrong for a while neither ends backups nor has the wrong ones dropped', async () => {
  const { dataDir } = service.teal.config
  const folder = join(root, 'clock')
  const how = { keep: 2, gently: false }
  const at = (year: number) => new Date(Date.UTC(year, 0, 1))
  await takePoint(dataDir, folder, { ...how, at: at(2026) })
  await takePoint(dataDir, folder, { ...how, at: at(2040) })
  expect(await takePoint(dataDir, folder, { ...how, at: at(2027) })).toMatchObject({ dropped: ['20260101T000000Z'] })
  expect(await takePoint(dataDir, folder, { ...how, at: at(2028) })).toMatchObject({ dropped: ['20400101T000000Z'] })
  expect(await takePoint(dataDir, folder, { ...how, at: at(1970) })).toMatchObject({ dropped: ['20270101T000000Z'] })
  expect((await listPoints(folder)).map(({ name }) => name)).toEqual(['19700101T000000Z', '20280101T000000Z'])
})

test('the service takes one when the newest is of times to come', async () => {
  const folder = join(root, 'ahead')
  await takePoint(service.teal.config.dataDir, folder, { at: new Date(Date.UTC(2200, 0, 1)), keep: 2, gently: false })
  expect((await lookAtBackups(folder)).state).toBe('wrong')
  const teal = await startTeal({ threads, backup: { folder, every: '1h', keep: 1 } })
  try {
    const names = async () => (await listPoints(folder)).map(({ name }) => name)
    await expect.poll(names, { timeout: 20_000 }).toEqual([expect.not.stringMatching(/^2200/)])
    expect((await lookAtBackups(folder)).state).toBe('good')
  } finally {
    await teal.close()
  }
})

test('one that was half dropped is none, and goes with the next', async () => {
  const { dataDir } = service.teal.config
  const folder = join(root, 'dropping')
  await takePoint(dataDir, folder, { at: day(1), keep: 1, gently: false })
  mkdirSync(join(folder, 'dropping', 'blobs'), { recursive: true })
  expect(await takePoint(dataDir, folder, { at: day(2), keep: 1, gently: false })).toMatchObject({
    dropped: ['20260101T000000Z'],
  })
  expect(readdirSync(folder).filter(name => !name.startsWith('lock'))).toEqual(['20260102T000000Z'])
})

test('another under way, a backup of one moment, and things of others are left alone', async () => {
  const { dataDir } = service.teal.config
  const folder = join(root, 'others')
  mkdirSync(folder)
  writeFileSync(join(folder, 'holiday.jpg'), 'x')
  const release = lock(join(folder, 'lock'))
  await expect(takePoint(dataDir, folder, { at: day(1), keep: 1, gently: false })).rejects.toThrow(/under way/)
  release()
  await takePoint(dataDir, folder, { at: day(1), keep: 1, gently: false })
  await takePoint(dataDir, folder, { at: day(2), keep: 1, gently: false })
  expect(existsSync(join(folder, 'holiday.jpg'))).toBe(true)
  const single = join(root, 'single')
  const env = childEnvironment(dataDir)
  expect((await runTeal(['backup', single], env)).code).toBe(0)
  await expect(takePoint(dataDir, single, { at: day(1), keep: 1, gently: false })).rejects.toThrow(/one moment/)
  expect((await runTeal(['backup', single, '--to', folder], env)).code).toBe(1)
  expect((await runTeal(['backup', '--to', folder, '--list', '--json'], env)).out).toContain('"20260102T000000Z"')
  rmSync(join(folder, '20260102T000000Z/backup.json'))
  const { code, out, err } = await runTeal(['backup', '--to', folder, '--list'], env)
  expect([code, out, err]).toEqual([3, '', expect.stringContaining('20260102T000000Z: no backup, its backup.json')])
})

test('the service takes them by itself when they are due, and not before', async () => {
  const folder = join(root, 'itself')
  const teal = await startTeal({ threads, backup: { folder, every: '1h', keep: 2 } })
  const count = async () => (await listPoints(folder)).length
  try {
    await expect.poll(count, { timeout: 20_000 }).toBe(1)
    expect((await lookAtBackups(folder)).state).toBe('good')
    advanceClock(30 * 60_000)
    advanceClock(31 * 60_000)
    await expect.poll(count, { timeout: 20_000 }).toBe(2)
    const metrics = await fetch(`${teal.url}/metrics`, { headers: { 'x-access-token': teal.rootToken } })
    expect(await metrics.text()).toMatch(/wildduck_backup_age_seconds \d/)
    expect(await teal.check()).toEqual([])
  } finally {
    shiftClock(0)
    await teal.close()
  }
})
