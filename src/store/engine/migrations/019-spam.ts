// What accounts say about spam, and what was learned of it.
//
// A model is read whole and changed whole.

export const spam = `
-- What accounts say about spam by moving mail. counted: what the model of the account has counted, 1 spam, 0 ham, null nothing.
CREATE TABLE spam_mark ("user" INTEGER NOT NULL, reference INTEGER NOT NULL, spam INTEGER NOT NULL, counted INTEGER,
  waits INTEGER NOT NULL, body INTEGER NOT NULL, at INTEGER NOT NULL, features BLOB, PRIMARY KEY ("user", reference)) WITHOUT ROWID;
CREATE INDEX spam_waiting ON spam_mark ("user", at) WHERE waits = 1;
CREATE INDEX spam_kept ON spam_mark ("user", spam, at) WHERE features IS NOT NULL;
CREATE INDEX spam_at ON spam_mark ("user", at);
-- What was learned of it; account 0 is what all share.
CREATE TABLE spam_model ("user" INTEGER PRIMARY KEY, rev INTEGER NOT NULL, version INTEGER NOT NULL, spam INTEGER NOT NULL,
  ham INTEGER NOT NULL, data BLOB NOT NULL);
`
