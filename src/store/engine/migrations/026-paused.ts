// Accounts whose mail is held, and how much each usually sends at once.

export const paused = `
CREATE TABLE sending_pause (
  "user" TEXT PRIMARY KEY, since INTEGER NOT NULL, reason TEXT NOT NULL, recipients INTEGER NOT NULL, usual INTEGER NOT NULL,
  resumed INTEGER
) WITHOUT ROWID;
-- The most recipients of one window of a day; only what is worth to be known.
CREATE TABLE sending_pace (
  "user" TEXT NOT NULL, day INTEGER NOT NULL, peak INTEGER NOT NULL, PRIMARY KEY ("user", day)
) WITHOUT ROWID;
`
