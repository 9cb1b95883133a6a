// Backups of the service over HTTP: which there are, how old, and one more now.
//
// They are those that come by themselves (`backup.folder`). Taking one takes as long as it takes: the call begins it, the list tells how it went.
// Nothing of what is in one is given out here.

import { Type } from 'typebox'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { listPoints } from '#store/upkeep/points.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { moment } from '../../schema.ts'

export interface BackupDeps {
  readonly folder: string
  /** How many are kept, and milliseconds between two. */
  readonly keep: number
  readonly every: number
  /** Absent where none are taken. */
  readonly backups:
    | {
        readonly running: boolean
        readonly failed: { readonly at: number; readonly reason: string } | undefined
        take(): void
      }
    | undefined
}

export function backupEndpoints({ folder, keep, every, backups }: BackupDeps): Endpoint[] {
  const list = endpoint({
    method: 'GET',
    path: '/backups',
    tag: 'Service',
    summary: 'List backups, the newest first',
    allow: 'backups.read',
    reply: {
      enabled: Type.Boolean({ description: 'Whether they come by themselves' }),
      keep: Type.Integer({ description: 'How many are kept' }),
      every: Type.Integer({ description: 'Seconds between two' }),
      running: Type.Boolean({ description: 'Whether one is being taken' }),
      failed: Type.Optional(Type.Object({ at: moment, reason: Type.String() }, { description: 'The last attempt' })),
      results: Type.Array(
        Type.Object({ name: Type.String(), created: moment, age: Type.Integer({ description: 'Seconds' }) }),
      ),
    },
    async run() {
      const points = folder === '' ? [] : await listPoints(folder)
      const failed = backups?.failed
      const results = points.map(({ name, created }) => ({
        ...{ name, created, age: Math.max(0, Math.round((now() - Date.parse(created)) / 1000)) },
      }))
      return {
        ...{
          enabled: backups !== undefined,
          keep,
          every: Math.round(every / 1000),
          running: backups?.running === true,
        },
        ...(failed !== undefined && { failed: { at: new Date(failed.at).toISOString(), reason: failed.reason } }),
        results,
      }
    },
  })

  const take = endpoint({
    method: 'POST',
    path: '/backups',
    tag: 'Service',
    summary: 'Take a backup now',
    description: 'It is begun with the answer; where one is being taken that one will do.',
    allow: 'backups.create',
    faults: ['BackupInvalid'],
    run() {
      if (backups === undefined)
        throw new Fault('BackupInvalid', { text: 'No folder is set for backups (backup.folder)' })
      backups.take()
    },
  })

  return [list, take]
}
