// What the processes of a run of tests know of each other: variables that a runner's workers inherit.
//
// The only file here that looks at the environment. A name is said once.

const placeVariable = 'TEAL_TESTING'

/** Where the service of this run is; undefined where none was started. */
export function placeOfRun(): string | undefined {
  return process.env[placeVariable] || undefined
}

/** Lets processes that are started from now on know of a service; gives what takes that back. */
export function tellRun(place: string, more: Readonly<Record<string, string>>): () => void {
  const given: Readonly<Record<string, string>> = { ...more, [placeVariable]: place }
  const before = Object.keys(given).map((name): [string, string | undefined] => [name, process.env[name]])
  Object.assign(process.env, given)
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
}
