// What a configuration names and a start would trip over: certificates, keys, folders and addresses.
//
// Looked at without changing anything: nothing is made, no port is taken, and no name is asked of a name server.

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { dirname } from 'node:path'
import { type Config, listeners } from '#config'
import { now } from '#lib/clock.ts'
import { fileProblem } from '#lib/process/file-error.ts'
import { isOfService } from '#store/folder/owner.ts'

/** What is wrong, as sentences with the key they are about. */
export function configProblems(config: Config): string[] {
  return [
    ...pairProblems('tls', config.tls),
    ...pairProblems('mobileconfig', config.mobileconfig),
    ...folderProblems(config),
    ...fileProblems(config),
    ...addressProblems(config),
  ]
}

function pairProblems(section: string, { cert, key }: { cert: string; key: string }): string[] {
  if (cert === '') return []
  const chain = read(cert)
  const secret = read(key)
  const missing = [
    ...(typeof chain === 'string' ? [] : [`${section}.cert: ${cert} cannot be read (${chain.code})`]),
    ...(typeof secret === 'string' ? [] : [`${section}.key: ${key} cannot be read (${secret.code})`]),
  ]
  if (typeof chain !== 'string' || typeof secret !== 'string') return missing
  try {
    const certificate = new X509Certificate(chain)
    const problems = certificate.checkPrivateKey(createPrivateKey(secret))
      ? []
      : [`${section}.key: ${key} is not the key of ${cert}`]
    if (certificate.validToDate.getTime() < now())
      problems.push(`${section}.cert: ${cert} ended on ${certificate.validTo}`)
    return problems
  } catch (error) {
    return [`${section}: ${cert} and ${key} are no certificate and key in PEM (${(error as Error).message})`]
  }
}

function folderProblems({ dataDir, mail: { welcomeDir } }: Config): string[] {
  const problems: string[] = []
  if (welcomeDir !== '' && !isFolder(welcomeDir)) problems.push(`mail.welcomeDir: ${welcomeDir} is no folder`)
  // A data directory that is not there yet is made in what is there of its path.
  const there = nearest(dataDir)
  try {
    if (!isFolder(there)) problems.push(`dataDir: ${there} is no folder`)
    else accessSync(there, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    problems.push(`dataDir: ${there} cannot be written to by this user (${(error as NodeJS.ErrnoException).code})`)
  }
  return problems
}

/** Files that are read where they are named, and folders that are written to: the log's must be there, that of backups is made. */
function fileProblems({ dataDir, bodies, tls, log, backup }: Config): string[] {
  const authorities = { 'bodies.ca': bodies.ca, 'tls.acme.ca': tls.acme.ca }
  const unread = Object.entries(authorities).flatMap(([key, file]) => {
    const text = file === '' ? '' : read(file)
    return typeof text === 'string' ? [] : [`${key}: ${file} cannot be read (${text.code})`]
  })
  const logged =
    log.file === '' ? undefined : unusable(isThere(log.file) ? log.file : dirname(log.file), isThere(log.file))
  const kept = backup.folder === '' ? undefined : backupProblem(backup.folder, dataDir)
  return [
    ...unread,
    ...(logged === undefined ? [] : [`log.file: ${logged}`]),
    ...(kept === undefined ? [] : [`backup.folder: ${kept}`]),
  ]
}

function backupProblem(folder: string, dataDir: string): string | undefined {
  if (isOfService(folder, dataDir)) return `${folder} is where the service itself keeps its data`
  return unusable(nearest(folder), false)
}

/** Why what is there cannot be written to by this user; undefined where it can. */
function unusable(path: string, isFile: boolean): string | undefined {
  try {
    const found = statSync(path)
    if (found.isDirectory() === isFile) return isFile ? `${path} is a folder` : `${path} is no folder`
    accessSync(path, isFile ? constants.W_OK : constants.W_OK | constants.X_OK)
    return
  } catch (error) {
    return fileProblem(error as NodeJS.ErrnoException)
  }
}

/** The last of a path that is there. */
function nearest(path: string): string {
  return isThere(path) || dirname(path) === path ? path : nearest(dirname(path))
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

/** An address that this machine does not have cannot be listened on. */
function addressProblems(config: Config): string[] {
  const own = new Set(
    Object.values(networkInterfaces()).flatMap(found => (found ?? []).map(({ address }) => address.replace(/%.*/, ''))),
  )
  return listeners.flatMap(name => {
    const { enabled, host } = config[name]
    const known =
      !/^(\d+(\.\d+){3}|[\da-f:]*:[\da-f:.]*)$/i.test(host) ||
      host === '0.0.0.0' ||
      host === '::' ||
      own.has(host) ||
      /^(127\.|::1$)/.test(host)
    return enabled && !known ? [`${name}.host: ${host} is no address of this machine`] : []
  })
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function read(file: string): string | NodeJS.ErrnoException {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    return error as NodeJS.ErrnoException
  }
}
