// The keys that sign mail of domains without being asked for.
//
// A domain has one of each algorithm and state at most; those of operators lie in a table of their own.

export const signingKeys = `
-- state: 0 waits for DNS to show it, 1 signs, 2 was followed by another and is still to be found. \`key\` is sealed; null once it signs no more.
CREATE TABLE signing_key (
  id TEXT PRIMARY KEY, domain TEXT NOT NULL, selector TEXT NOT NULL, algorithm TEXT NOT NULL, key TEXT, public TEXT NOT NULL,
  state INTEGER NOT NULL, created INTEGER NOT NULL, since INTEGER NOT NULL, due INTEGER NOT NULL, checked INTEGER,
  looks INTEGER NOT NULL, found TEXT
);
CREATE UNIQUE INDEX signing_key_place ON signing_key (domain, algorithm, state) WHERE state < 2;
CREATE UNIQUE INDEX signing_key_name ON signing_key (domain, selector);
CREATE INDEX signing_key_due ON signing_key (due);
`
