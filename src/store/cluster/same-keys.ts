// Nodes have the same keys: what one of them sealed all have to read, and mail that one sent comes back to another.
//
// The first node writes down what its keys are told by, one number each, of which nobody gets the key. One with others is refused
// before it serves anything, and before it makes keys of its own. Keys that the configuration holds may be changed, and are left to it.

import { createHmac } from 'node:crypto'
import { Fault } from '#lib/fault.ts'
import { hasKey, loadKey } from '../folder/keys.ts'
import type { Leases } from './leases.ts'

/** @param names of keys that lie in files @throws Fault DataMissing where others have other ones */
export async function requireSameKeys(leases: Leases, dataDir: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const fact = `cluster.key.${name}`
    const known = await said(leases, fact)
    if (known !== undefined && !hasKey(dataDir, name)) throw refusal(dataDir, name, 'is missing here')
    const own = markOf(loadKey(dataDir, name, ''))
    if ((await said(leases, fact, own)) !== own) throw refusal(dataDir, name, 'is another one here')
  }
}

/** What a node has said of it; this one says it where it is the first and has something to say. */
async function said(leases: Leases, fact: string, own?: number): Promise<number | undefined> {
  const saying = 'INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING'
  if (own !== undefined) await leases.first(saying, fact, own)
  const row = await leases.first<{ value: number }>('SELECT value FROM meta WHERE key = $1', fact)
  return row === undefined ? undefined : Number(row.value)
}

function refusal(dataDir: string, name: string, how: string): Fault {
  const text = `The key ${name} of the other nodes ${how}: copy the folder keys of one of them to ${dataDir} before this node is started`
  return new Fault('DataMissing', { text })
}

/** 48 bits, which say nothing of the key. */
function markOf(key: string): number {
  return Number.parseInt(createHmac('sha256', key).update('key of nodes').digest('hex').slice(0, 12), 16)
}
