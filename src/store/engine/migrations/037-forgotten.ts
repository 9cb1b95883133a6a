// Up to which change a folder has forgotten what went from it.
//
// Nothing was forgotten before.

export const forgotten = `
-- Messages that went up to this change need no row of their own any more: a client that was away before it is told of all.
ALTER TABLE tally ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;
`
