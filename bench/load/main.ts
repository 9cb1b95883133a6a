// A process of its own for the load, so that the measured server has its loop to itself.
//
// Started with a channel; takes one job as a message, answers with its result, and ends.

import { deliver } from './deliver.ts'
import type { Job, LoadResult } from './job.ts'
import { login } from './login.ts'
import { request } from './request.ts'

process.once('message', async (job: Job) => {
  const result = await perform(job)
  process.send?.(result, () => process.disconnect())
})

function perform(job: Job): Promise<LoadResult> {
  if (job.kind === 'deliver') return deliver(job)
  return job.kind === 'request' ? request(job) : login(job)
}
