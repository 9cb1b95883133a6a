// What a unit's writes come to for this engine: statements with their values, in order, told and not run. They are found by
// running the write itself on a handle that only listens; a write that reads has another way (`told` in ../write.ts).

import type { Sql, Statement } from '../../sqlite/handle.ts'
import { type Effects, findWrite, type Operation } from '../../write.ts'
import { type Prepared, prepared } from '../text.ts'

/** Statements of an operation. @throws Error where the write reads and does not say how this engine does it */
export function stepsOf([name, form]: Operation): Prepared[] {
  const write = findWrite(name)
  const steps: Prepared[] = []
  const sql = listening(steps)
  const tell = write.told ?? write.run
  tell(sql, form, noEffects)
  return steps
}

/** Files are no concern of this engine: all that is stored lies in rows. */
const noEffects: Effects = { beforeCommit() {}, afterCommit() {}, onRollback() {} }

function listening(steps: Prepared[]): Sql {
  return text => {
    const run = (...values: unknown[]) => {
      const bound = values.length === 1 && Array.isArray(values[0]) ? (values[0] as unknown[]) : values
      steps.push(prepared(text, bound))
    }
    return { run } as unknown as Statement
  }
}
