// A process of its own for the load, so that the measured server has its loop to itself.
//
// Started with a channel; takes one job as a message, answers with its result, and ends.

import { type AttackJob, type AttackResult, attack } from './attack.ts'
import { deliver } from './deliver.ts'
import type { Job, LoadResult } from './job.ts'
import { login } from './login.ts'
import { type MixJob, mix } from './mix.ts'
import { type OthersJob, type OthersResult, others } from './others.ts'
import { request } from './request.ts'

process.once('message', async (job: Job | OthersJob | AttackJob | MixJob) => {
  const result = await perform(job)
  process.send?.(result, () => process.disconnect())
})

function perform(job: Job | OthersJob | AttackJob | MixJob): Promise<LoadResult | OthersResult | AttackResult> {
  if (job.kind === 'others') return others(job)
  if (job.kind === 'mix') return mix(job)
  if (job.kind === 'attack') return attack(job)
  if (job.kind === 'deliver') return deliver(job)
  return job.kind === 'request' ? request(job) : login(job)
}
