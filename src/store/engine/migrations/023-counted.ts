// What domains want to be told of: mail in their name and sessions with their hosts, counted by day until it is told.

export const counted = `
-- kind is tls or dmarc; detail is JSON, '' for what was more than is told.
CREATE TABLE report_count (
  kind TEXT NOT NULL, day INTEGER NOT NULL, domain TEXT NOT NULL, detail TEXT NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (kind, day, domain, detail)
) WITHOUT ROWID;
`
