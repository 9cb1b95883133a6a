// Handing what gathered in a tick to the kernel.

import type { Writable } from 'node:stream'

/**
 * Writes parts in their order, in one system call where the kernel takes them.
 *
 * @param taken called when nobody will read the parts any more; never where that did not go well
 */
export function writeTogether(socket: Writable, parts: readonly (string | Uint8Array)[], taken?: () => void): void {
  const done = taken === undefined ? undefined : (error?: Error | null) => (error == null ? taken() : undefined)
  if (parts.every(part => typeof part === 'string')) {
    socket.write(parts.length === 1 ? (parts[0] ?? '') : parts.join(''), done)
    return
  }
  socket.cork()
  parts.forEach((part, index) => {
    if (index === parts.length - 1) socket.write(part, done)
    else socket.write(part)
  })
  socket.uncork()
}
