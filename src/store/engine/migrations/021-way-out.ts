// What is known of the way out: how other domains want to be sent to, what each attempt met, and addresses that are gone.
//
// All of it ends: policies when they say so, attempts with their message, addresses after some time.

export const wayOut = `
-- MTA-STS policies of other domains (RFC 8461); mx is a JSON array of patterns.
CREATE TABLE sts_policy (
  domain TEXT PRIMARY KEY, id TEXT NOT NULL, mode TEXT NOT NULL, mx TEXT NOT NULL, fetched INTEGER NOT NULL, expires INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sts_policy_expires ON sts_policy (expires);
-- Every attempt at a target of a queued message.
CREATE TABLE outbound_attempt (
  message INTEGER NOT NULL, seq INTEGER NOT NULL, attempt INTEGER NOT NULL, at INTEGER NOT NULL, outcome TEXT NOT NULL,
  failure TEXT, status INTEGER, response TEXT NOT NULL, host TEXT, PRIMARY KEY (message, seq, attempt)
) WITHOUT ROWID;
`
