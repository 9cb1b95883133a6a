// Marks of domains (BIMI).

export const marks = `
CREATE TABLE mark (
  id TEXT NOT NULL PRIMARY KEY,
  assertion TEXT NOT NULL,
  certified INTEGER NOT NULL,
  type TEXT NOT NULL,
  url TEXT NOT NULL,
  image TEXT NOT NULL,
  fetched INTEGER NOT NULL
);
CREATE INDEX mark_assertion ON mark (assertion, fetched);
CREATE INDEX mark_fetched ON mark (fetched);
`
