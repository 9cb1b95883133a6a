// Filters, automatic answers and the record of what both decided.
//
// What is only ever read whole is JSON.

export const rules = `
-- A filter of an account: conditions and actions as JSON. Filters are evaluated in the order of \`num\`. \`offences\` is
-- JSON about patterns of it that took too long.
CREATE TABLE filter (
  num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, user INTEGER NOT NULL, name TEXT, disabled INTEGER NOT NULL,
  query TEXT NOT NULL, action TEXT NOT NULL, meta TEXT, offences TEXT, created INTEGER NOT NULL
);
CREATE INDEX filter_user ON filter (user, num);
-- What an account answers by itself. Whether it does is in the account's options, too.
CREATE TABLE autoreply (
  user INTEGER PRIMARY KEY, id TEXT NOT NULL, status INTEGER NOT NULL, name TEXT NOT NULL, subject TEXT NOT NULL,
  text TEXT NOT NULL, html TEXT NOT NULL, starts INTEGER, ends INTEGER, created INTEGER NOT NULL
);
-- What the rules of an account decided about one message, as JSON. \`message\` is the stored message's number, null where
-- none was stored.
CREATE TABLE trace (
  user INTEGER NOT NULL, num INTEGER NOT NULL, at INTEGER NOT NULL, message INTEGER, mailbox INTEGER, uid INTEGER,
  reference INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (user, num)
) WITHOUT ROWID;
CREATE INDEX trace_at ON trace (at);
`
