// One cluster for all test files of a run, with a template that has the tables: each file makes its databases from it.

import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import pg from 'pg'
import { installed } from '../../bench/peer/install.ts'
import { migratePostgres } from '../../src/store/engine/postgres/schema.ts'
import { serverPrograms, startCluster } from './cluster.ts'

interface Provided {
  provide(key: 'postgres', folder: string): void
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder of the cluster's socket. */
    postgres: string
  }
}

export async function setup({ provide }: Provided): Promise<() => Promise<void>> {
  if (serverPrograms() === undefined) installed('pg_createcluster', ['postgresql'])
  installed('nats-server', ['nats-server'])
  // On tables that hold next to nothing two processes more for a plan are all that it costs; other clusters of tests have them.
  // Each file makes and removes a thousand files of a database: on disk the search for room for new ones among those that were just
  // removed takes some file systems longer than all that is written.
  const settings = { max_parallel_workers_per_gather: '0', max_wal_size: '256MB' }
  const cluster = await startCluster({ inMemory: true, settings })
  // Whatever defines a table has to be there.
  for (const file of globSync('src/store/**/*.ts')) await import(resolve(file))
  const root = new pg.Client(cluster.url('postgres'))
  await root.connect()
  await root.query('CREATE DATABASE teal_template TEMPLATE template0')
  await root.end()
  const made = new pg.Client(cluster.url('teal_template'))
  await made.connect()
  await migratePostgres(made)
  await made.end()
  provide('postgres', cluster.folder)
  return () => cluster.stop()
}
