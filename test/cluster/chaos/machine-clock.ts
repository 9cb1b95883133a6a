// Loaded first in every thread of a node (`--import`): the machine's clock, which may be off. The main thread is told by how much,
// and tells the others.

import { BroadcastChannel, isMainThread } from 'node:worker_threads'

const again = 250
const told = new BroadcastChannel('machine-clock')
const right = Date.now
let off = 0
Date.now = () => right() + off

if (isMainThread) {
  process.on('message', (message: object | string) => {
    if (typeof message !== 'object' || !('shift' in message)) return
    off = Number(message.shift)
    told.postMessage(off)
  })
  // Threads may begin later.
  setInterval(() => told.postMessage(off), again).unref()
} else {
  told.onmessage = ({ data }: { data?: unknown }) => {
    off = Number(data)
  }
}
told.unref()
