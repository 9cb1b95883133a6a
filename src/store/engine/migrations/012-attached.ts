// Messages within messages are searched.
//
// Only bodies that have some wait to be indexed again.

export const attached = `
-- The messages within a message are searched, too: bodies that have some are indexed again.
CREATE TEMP TABLE holding AS SELECT (user << 32) | body AS num, user, body FROM search_doc WHERE indexed = 1 AND body IN
  (SELECT body FROM outline WHERE bodystructure LIKE '%("MESSAGE" "RFC822" %' OR bodystructure LIKE '%("MESSAGE" "GLOBAL" %');
DELETE FROM search WHERE rowid IN (SELECT num FROM holding);
DELETE FROM search_word WHERE rowid IN (SELECT num FROM holding);
UPDATE search_doc SET indexed = 0 WHERE (body, user) IN (SELECT body, user FROM holding);
DROP TABLE holding;
`
