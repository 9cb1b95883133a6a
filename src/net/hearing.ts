// Who a connection tells, and is told by: its socket, whoever has it, who waits for its bytes.
//
// All sockets share the functions that hear what happens to them: with ten thousand connections that wait, functions of each one's own
// were a good part of what they held.

import type { Socket } from 'node:net'
import type { DeflateSocket } from './deflate.ts'

/** A connection, as far as its socket is concerned. */
export interface StreamHearer {
  heardBytes(chunk: Buffer): void
  heardEnd(): void
  heardRoom(): void
  heardClose(): void
}

/** Whoever has connections, a listener: one for all of them. */
export interface Owner {
  /** Called once for each, when its socket is gone. */
  closed(connection: StreamHearer): void
  /** One is ended to make room; gives what it is told. */
  displaced(): string
}

/** Somebody who waits for input, or for output to be taken. Settled once, by whoever knows first. */
export interface Waiter {
  resolve(): void
  reject(reason: unknown): void
  /** Whether a stopping service may interrupt it. */
  readonly idle?: boolean
}

const hearer = Symbol('hearer')

export type Stream = (Socket | DeflateSocket) & { [hearer]?: StreamHearer | undefined }

export function hear(socket: Stream, by: StreamHearer): void {
  socket[hearer] = by
  socket.on('data', onData)
  socket.on('end', onEnd)
  socket.on('drain', onDrain)
  // 'close' follows.
  socket.on('error', ignore)
  socket.on('close', onClose)
}

/** Nothing is heard of it any more, and nothing read. */
export function deafen(socket: Stream): void {
  socket[hearer] = undefined
  socket.off('data', onData)
  socket.off('end', onEnd)
  socket.off('drain', onDrain)
  socket.off('close', onClose)
  socket.pause()
}

function onData(this: Stream, chunk: Buffer): void {
  this[hearer]?.heardBytes(chunk)
}

function onEnd(this: Stream): void {
  this[hearer]?.heardEnd()
}

function onDrain(this: Stream): void {
  this[hearer]?.heardRoom()
}

function onClose(this: Stream): void {
  this[hearer]?.heardClose()
}

function ignore(): void {}
