// What crosses from where a command is asked for to where its actor lives: data alone, whatever lies between the two.
//
// Where both ends share a thread nothing is copied, unless tests ask for it: then every command, reply, fault and change is,
// so that what could not cross to another thread fails (lib/process/link.ts).

import { packFailure, unpackFailure } from '#lib/process/link.ts'

let copies = false

/** For tests: from now on everything is copied, as if the actors lived elsewhere. */
export function copyAll(): void {
  copies = true
}

/** What arrives at the other end of a crossing inside one thread. */
export function cross<Data>(data: Data): Data {
  return copies ? structuredClone(data) : data
}

/** The same of what a command came to. */
export function crossReply<Reply>(reply: Promise<Reply>): Promise<Reply> {
  if (!copies) return reply
  return reply.then(structuredClone<Reply>, error => {
    throw unpackFailure(structuredClone(packFailure(error)))
  })
}

/** Whoever hears changes across a crossing. */
export function crossing<Change>(listener: (change: Change) => void): (change: Change) => void {
  return copies ? change => listener(structuredClone(change)) : listener
}
