// Mail that came back: what was said of it later, addresses that are not tried for a while, and forwards that fail.

export const returned = `
-- What a report said of a target after it was delivered; one row for each kind of it.
CREATE TABLE outbound_bounce (
  message INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, address TEXT NOT NULL, at INTEGER NOT NULL, final INTEGER NOT NULL,
  status TEXT NOT NULL, response TEXT NOT NULL, reporter TEXT NOT NULL, proven INTEGER NOT NULL, PRIMARY KEY (message, seq, kind)
) WITHOUT ROWID;
-- Addresses that do not exist, for one account or ('') for all.
CREATE TABLE suppression (
  "user" TEXT NOT NULL, address TEXT NOT NULL, created INTEGER NOT NULL, until INTEGER NOT NULL, failures INTEGER NOT NULL,
  status TEXT NOT NULL, response TEXT NOT NULL, source TEXT NOT NULL, PRIMARY KEY ("user", address)
) WITHOUT ROWID;
CREATE INDEX suppression_until ON suppression (until);
-- Targets of forwards that refuse what is sent on; owner is an account, or an address that only forwards.
CREATE TABLE forward_trouble (
  owner TEXT NOT NULL, target TEXT NOT NULL, since INTEGER NOT NULL, last INTEGER NOT NULL, failures INTEGER NOT NULL,
  status TEXT NOT NULL, response TEXT NOT NULL, told INTEGER, warned INTEGER, PRIMARY KEY (owner, target)
) WITHOUT ROWID;
CREATE INDEX forward_trouble_last ON forward_trouble (last);
`
