// Loaded into the measured service before its own first line: makes every unit a transaction of its own.
//
// The same service without group commit is the fairest answer to what group commit brings: one sync for each message,
// everything else as it is. Only a bench may do this.

import { limits } from '#lib/limits.ts'

Object.assign(limits.writer, { batchUnitsMax: 1 })
