// Deleted messages that are kept for some time.
//
// Counted in a row of their own for each account: such numbers are read, never counted.

export const archive = `
-- A message that was deleted and is kept for some time. It keeps its body and does not count against the quota.
CREATE TABLE archive (
  num INTEGER PRIMARY KEY, user INTEGER NOT NULL, mailbox INTEGER NOT NULL, mailbox_id TEXT NOT NULL,
  path TEXT NOT NULL, uid INTEGER NOT NULL, flags INTEGER NOT NULL, idate INTEGER NOT NULL, size INTEGER NOT NULL,
  thread INTEGER NOT NULL, body INTEGER NOT NULL, saved INTEGER NOT NULL, attachments INTEGER NOT NULL, keywords TEXT,
  prefix TEXT NOT NULL, meta TEXT NOT NULL, archived INTEGER NOT NULL, expires INTEGER NOT NULL
);
CREATE INDEX archive_user ON archive (user, idate, num);
CREATE INDEX archive_expires ON archive (expires);
-- How many an account has: read, never counted.
CREATE TABLE archive_tally (user INTEGER PRIMARY KEY, total INTEGER NOT NULL);
`
