// Handing what gathered in a tick to the kernel.

import type { Writable } from 'node:stream'

/** Writes parts in their order, in one system call where the kernel takes them. */
export function writeTogether(socket: Writable, parts: readonly (string | Uint8Array)[]): void {
  if (parts.every(part => typeof part === 'string')) {
    socket.write(parts.length === 1 ? (parts[0] ?? '') : parts.join(''))
    return
  }
  socket.cork()
  for (const part of parts) socket.write(part)
  socket.uncork()
}
