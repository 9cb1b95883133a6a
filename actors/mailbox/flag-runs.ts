// Changes of flags as runs: one statement for messages that stand next to each other in their folder, whatever flags each of them had,
// where one for each costs several times as much.
//
// Promises: between the first and the last of a run there is no message that does not change, as far as who adds them says so.

/** Messages that stand next to each other in their folder and are changed alike. */
export class FlagRuns {
  readonly from: number[] = []
  readonly to: number[] = []
  /** What the first of each has now. */
  readonly flags: number[] = []

  /** @param apart between it and the one before there are messages that do not change */
  add(uid: number, flags: number, apart: boolean): void {
    const last = this.to.length - 1
    if (!apart && last >= 0) {
      this.to[last] = uid
      return
    }
    this.from.push(uid)
    this.to.push(uid)
    this.flags.push(flags)
  }
}
