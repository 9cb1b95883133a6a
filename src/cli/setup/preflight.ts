// What would stand in a set-up's way, found before anything is made: folders of others, missing rights, ports that are taken,
// a resolver that is gone or lies, a name that leads elsewhere. Each is one sentence with what to do.
//
// Nothing is made to find out; a port is taken for a moment and given back.

import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Config, listeners, splitSocket } from '#config'
import { Fault } from '#lib/fault.ts'
import { portState } from '#net/outward/probe.ts'
import { databaseFile, localPlace, runFile } from '#store/folder/place.ts'
import { mayBeNew } from '#store/folder/presence.ts'
import { readRun } from '../inspect/run.ts'
import { isOwnFile, type Plan } from './plan.ts'

/** What lies in the way, as sentences; empty where nothing does. */
export async function obstacles(plan: Plan, config: Config): Promise<string[]> {
  return [...fileObstacles(plan.configFile), ...folderObstacles(config.dataDir), ...(await portObstacles(config))]
}

/** @returns the text of the file that an earlier run wrote, if there is one */
export function ownFile(file: string): string | undefined {
  if (!existsSync(file)) return undefined
  const text = readFileSync(file, 'utf8')
  return isOwnFile(text) ? text : undefined
}

function fileObstacles(file: string): string[] {
  try {
    if (existsSync(file) && ownFile(file) === undefined) {
      return [`${file} is there and was not written by a set-up: name another with --config, or move it away.`]
    }
  } catch (error) {
    return [`${file} cannot be read (${codeOf(error)}): run this as root, or name another with --config.`]
  }
  const folder = existing(dirname(file))
  return writable(folder) ? [] : [`${folder} cannot be written to: run this as root, or name another with --config.`]
}

function folderObstacles(dataDir: string): string[] {
  const folder = existing(dataDir)
  if (!statSync(folder).isDirectory()) return [`${folder} is no folder: name another with --data-dir.`]
  const { uid } = statSync(folder)
  const self = process.geteuid?.() ?? uid
  if (folder === dataDir && self !== uid && self !== 0) {
    return [`${dataDir} belongs to another user: run this as that user, or name another folder with --data-dir.`]
  }
  if (!writable(folder)) return [`${folder} cannot be written to: run this as root, or name another with --data-dir.`]
  if (folder !== dataDir || existsSync(databaseFile(dataDir)) || existsSync(runFile(dataDir))) return []
  try {
    mayBeNew(localPlace(dataDir))
  } catch (error) {
    if (error instanceof Fault) return [error.message]
    throw error
  }
  const names = readdirSync(dataDir).filter(name => !/^(\.gitkeep|lost\+found|lock(-journal)?|\.cache)$/.test(name))
  if (names.length === 0) return []
  return [`${dataDir} holds other things (${names[0]}): name a folder of its own with --data-dir.`]
}

/** What is to be listened on; nothing where the service has it already. */
export function placesOf(config: Config): { name: string; host: string; port: number }[] {
  if (readRun(config.dataDir) !== undefined) return []
  const acme = splitSocket(config.tls.acme.http)
  return [
    ...listeners.map(name => ({ name: `${name}.port`, ...config[name] })),
    ...(acme === undefined ? [] : [{ name: 'tls.acme.http', enabled: true, ...acme }]),
  ].filter(({ enabled, port }) => enabled && port !== 0)
}

async function portObstacles(config: Config): Promise<string[]> {
  const told = await Promise.all(
    placesOf(config).map(async ({ name, host, port }) => ({ name, host, port, state: await portState(host, port) })),
  )
  return told.flatMap(({ name, host, port, state }) => {
    if (state === 'free') return []
    if (state === 'EADDRINUSE') {
      return [
        `Port ${port} is taken by another program (ss -ltnp 'sport = :${port}'): stop it, or choose another with --set ${name}.`,
      ]
    }
    if (state === 'EACCES') {
      return [`Port ${port} is for root alone: run this as root, or choose another with --set ${name}.`]
    }
    return [`Port ${port} on ${host} cannot be listened on (${state}): choose another with --set ${name}.`]
  })
}

/** The path, or what is there of it. */
function existing(path: string): string {
  let there = path
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there)
  return there
}

function writable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown'
}
