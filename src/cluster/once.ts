// What came of a call whose node is gone: it wrote that down with all else (#store/cluster/answered.ts), or nothing of it was done and
// nobody does it any more.

import { readAnswer, withdraw } from '#store/cluster/answered.ts'
import type { Leases } from '#store/cluster/leases.ts'
import { Unanswered } from './line.ts'

/**
 * @param call its name
 * @param nothing what it is where nothing was done
 * @throws Unanswered where the database cannot be asked now, or the answer was too large to be kept
 */
export async function once<Answer>(
  leases: Leases,
  call: string,
  nothing: Answer,
  asked: Promise<Answer>,
): Promise<Answer | { readonly reply: unknown }> {
  try {
    return await asked
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error
    const kept = await withdraw(leases, call).catch(() => {
      throw error
    })
    if (kept === undefined) return nothing
    const answer = readAnswer(kept)
    if (answer === undefined) throw error
    return answer
  }
}
