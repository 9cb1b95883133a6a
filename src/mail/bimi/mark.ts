// What was fetched of a mark is looked at on a thread: picture and evidence of a stranger, within what limits.bimi lets come in.

import { markAuthorities } from '#lib/process/lazy.ts'
import { evidenceFor } from './evidence.ts'
import { indicatorFault } from './indicator.ts'

export interface MarkTasks {
  readonly mark: {
    readonly input: {
      readonly svg: Uint8Array
      /** Certificates in PEM; empty where the domain names none. */
      readonly bundle: string
      readonly domain: string
      readonly selector: string
      readonly now: number
      /** Authorities in PEM that are believed instead of the known ones; empty: those. */
      readonly authorities: string
    }
    readonly value: CheckedMark
  }
}

export interface CheckedMark {
  /** Why it is not shown; empty where it is. */
  readonly fault: string
  readonly certified: boolean
  readonly type?: 'VMC' | 'CMC'
}

export async function checkMark({
  svg,
  bundle,
  authorities,
  ...question
}: MarkTasks['mark']['input']): Promise<CheckedMark> {
  const fault = indicatorFault(Buffer.from(svg).toString('utf8'))
  if (fault !== '' || bundle === '') return { fault, certified: false }
  try {
    const given = authorities.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)
    const roots = given ?? markAuthorities().map(String)
    const { type } = await evidenceFor({ ...question, svg, bundle, roots })
    return { fault: '', certified: true, type }
  } catch (error) {
    return { fault: (error as Error).message, certified: false }
  }
}
