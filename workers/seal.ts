// The thread that encrypts what is stored and looks at keys. It has nothing to do with searches, however many there are:
// mail that arrives for an account that encrypts waits for this thread.

import { answering } from '../src/lib/process/task.ts'
import { inspectKey as inspect, type SealTasks, sealMessage } from '../src/mail/crypt/sealing.ts'

/** Answers once the thread is up. */
export const ready = (): boolean => true

export const encrypt = answering(sealMessage)

export const inspectKey = answering(({ key }: SealTasks['inspectKey']['input']) => inspect(key))
