// The index of texts, and what is not in it yet.
//
// Full text is the engine's own; another engine gets another step in this place.

export const search = `
-- Trigrams of the text of bodies, for each account that has one, under (user << 32) | body. They leave out what cannot
-- fit; what may is looked into (store/search/search.ts).
CREATE VIRTUAL TABLE search USING fts5 (
  text, tokenize = 'trigram case_sensitive 1', content = '', contentless_delete = 1, detail = none
);
-- Words of the same text, under the same numbers: what begins a word of a body need not be looked for in it.
CREATE VIRTUAL TABLE search_word USING fts5 (
  text, tokenize = 'unicode61 remove_diacritics 0', content = '', contentless_delete = 1, detail = none
);
-- Which bodies are indexed for which account, and which still wait.
CREATE TABLE search_doc (
  body INTEGER NOT NULL, user INTEGER NOT NULL, indexed INTEGER NOT NULL, PRIMARY KEY (body, user)
) WITHOUT ROWID;
CREATE INDEX search_waiting ON search_doc (user, body) WHERE indexed = 0;
-- From a body to the messages of an account that carry it.
CREATE INDEX message_body ON message (body, user);
-- What was not read yet, for lists of it.
CREATE INDEX message_unseen ON message (mailbox, idate, uid) WHERE flags & 1 = 0;
`
