// Where things lie: paths in the data directory, the address of a database that is elsewhere, and that of a store for large parts.
//
// Nothing else builds such a path. What threads are given to find all of it is `placeOf`.

import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'

/** Everything but the cache and large parts. */
export const databaseFile = (dataDir: string): string => join(dataDir, 'teal.db')

/** A data directory, and the address of its database where that is not in it: '' otherwise; and of large parts of bodies beside that. */
export interface Place {
  readonly dataDir: string
  readonly store: { readonly url: string }
  readonly bodies?: ObjectsPlace
}

/** An S3-compatible store: s3://bucket/prefix, or https://host/bucket/prefix; '' for none. */
export interface ObjectsPlace {
  readonly url: string
  readonly region: string
  readonly accessKey: string
  readonly secretKey: string
  /** A file of certificates to trust for it; '' for the public ones. */
  readonly ca?: string
}

/** Whether large parts may be in a store beside the database. */
export const hasObjects = ({ bodies }: Pick<Place, 'bodies'>): boolean => bodies !== undefined && bodies.url !== ''

/** One with everything in it. */
export const localPlace = (dataDir: string): Place => ({ dataDir, store: { url: '' } })

/** What a thread is given of a configuration to find both. */
export const placeOf = ({ dataDir, store: { url }, bodies }: Place): Place => ({
  dataDir,
  store: { url },
  ...(bodies !== undefined && { bodies }),
})

/** The database: a file, or an address. */
export const databaseOf = ({ dataDir, store }: Place): string => store.url || databaseFile(dataDir)

/** Held by the one process that uses the directory. */
export const lockFile = (dataDir: string): string => join(dataDir, 'lock')
/** What may be lost. */
export const cacheDir = (dataDir: string): string => join(dataDir, 'cache')
/** What tools read to find the listeners. */
export const runFile = (dataDir: string): string => join(dataDir, 'run.json')
/** The first token. */
export const rootTokenFile = (dataDir: string): string => join(dataDir, 'root-token')
/** Large parts of bodies. */
export const blobsDir = (dataDir: string): string => join(dataDir, 'blobs')
/** What is being received. */
export const scratchDir = (dataDir: string): string => join(dataDir, 'tmp')
/** Keys that the service made for itself. */
export const keysDir = (dataDir: string): string => join(dataDir, 'keys')
/** A key that the service made for itself. */
export const keyFile = (dataDir: string, name: string): string => join(dataDir, 'keys', name)
/** Where the command line reaches the process that holds the directory: a socket, on Windows a named pipe. */
export const controlFile = (dataDir: string, platform: string = process.platform): string =>
  platform === 'win32' ? pipeOf(dataDir) : join(dataDir, 'control.sock')

/** Pipes lie in no folder: the directory's path, whatever its case, is a part of the name. Others may not write to it. */
function pipeOf(dataDir: string): string {
  const id = createHash('sha256').update(resolve(dataDir).toLowerCase()).digest('hex')
  return `\\\\.\\pipe\\teal-${id.slice(0, 32)}`
}
