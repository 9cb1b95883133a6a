// How many files and sockets this process may have open, and how many of them peers may take.
//
// Every connection is a descriptor, and so is every file: a service whose peers took the last one can neither read its
// database nor send mail nor say that it is full. What is kept back here is for those; connections share the rest.

import { readFileSync } from 'node:fs'
import { limits } from '#lib/limits.ts'

/** Descriptors this process may have; the runtime has raised the soft limit to the hard one. */
export function descriptorsMax(): number {
  try {
    const [, digits = ''] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return digits === '' ? limits.net.descriptorsMax : Number(digits)
  } catch {
    return reported() ?? limits.net.descriptorsMax
  }
}

/** Where there is no /proc. It takes some milliseconds. */
function reported(): number | undefined {
  const report = process.report?.getReport() as { userLimits?: { open_files?: { soft?: unknown } } } | undefined
  const soft = report?.userLimits?.open_files?.soft
  return typeof soft === 'number' ? soft : undefined
}

/** Connections that peers may have open where there are `descriptors`. */
export function connectionsFor(descriptors: number): number {
  const kept = Math.min(descriptors / 2, limits.net.descriptorsKeptMax)
  return Math.max(1, Math.floor(descriptors - kept))
}
