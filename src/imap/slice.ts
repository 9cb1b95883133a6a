// Long work on the main loop is done in slices; this lets the loop go in between.

/** Resolves when everything else that is due has had its turn. */
export function breathe(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
