// All that a reader sees is searched.
//
// Only bodies of which more is indexed now wait to be indexed again.

export const readable = `
-- All that a reader sees is searched: HTML beside plain text, files of text, targets of links. What is more than a plain text
-- is indexed again. Of one that is longer than what the index holds, \`indexed\` is 2.
CREATE TEMP TABLE changed AS SELECT (user << 32) | body AS num, user, body FROM search_doc WHERE indexed = 1 AND body IN
  (SELECT o.body FROM outline o JOIN body b ON b.num = o.body
    WHERE o.bodystructure NOT LIKE '("TEXT" "PLAIN" %' OR b.size > 262144);
DELETE FROM search WHERE rowid IN (SELECT num FROM changed);
DELETE FROM search_word WHERE rowid IN (SELECT num FROM changed);
UPDATE search_doc SET indexed = 0 WHERE (body, user) IN (SELECT body, user FROM changed);
DROP TABLE changed;
CREATE INDEX search_cut ON search_doc (user, body) WHERE indexed = 2;
`
