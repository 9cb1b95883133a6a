// `teal bodies`, as tests run it: in this process, beside services.

import { commandLine } from '#cli/program.ts'
import { accessKey, secretKey } from './s3.ts'

/** Settings of a bucket. @param url its address, with what names begin with */
export const bodiesAt = (url: string) => ({ url, accessKey, secretKey, keepDays: 1 })

interface Place {
  readonly dataDir: string
  /** Of the database. */
  readonly url: string
  /** Of the bucket. */
  readonly bodies: string
}

/** Its exit code; throws what it is refused with. */
export async function carry(to: string, { dataDir, url, bodies }: Place): Promise<number> {
  const place = Object.entries(bodiesAt(bodies)).flatMap(([key, value]) => ['--set', `bodies.${key}=${value}`])
  const words = ['bodies', '--json', '--to', to, '--data-dir', dataDir, '--set', `store.url=${url}`, ...place]
  try {
    await (await commandLine()).parseAsync(words, { from: 'user' })
    return Number(process.exitCode ?? 0)
  } finally {
    process.exitCode = 0
  }
}
