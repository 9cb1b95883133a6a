// What tests that run the program as its users do run: dist/, made before them where a source is newer. All others run the
// sources, threads included.

import { buildDist, isStale } from '../deploy/bundle.ts'

export async function setup(): Promise<void> {
  if (isStale()) await buildDist()
}
