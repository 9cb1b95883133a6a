// Moments at which nothing is due by itself, above all that are.
//
// One file, since the queue and whoever holds it mean the same by them.

/** When a target is due that is held: never by itself. */
export const heldDue = 8_000_000_000_000_000

/** What is added to when a target is due while the domain of its account is closed; a pause is added to that. */
export const closedFrom = 2_000_000_000_000_000

/** What is added to when a target is due while its account is paused, and from where on it is so. */
export const pausedFrom = 4_000_000_000_000_000
