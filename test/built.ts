// dist/ for the tests, made before them where a source is newer: what runs the program as its users do runs that, and all others
// have their threads from there (delivered.ts).

import { buildDist, isStale } from '../deploy/bundle.ts'

export async function setup(): Promise<void> {
  if (isStale()) await buildDist()
}
