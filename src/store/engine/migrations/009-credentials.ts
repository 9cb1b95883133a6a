// Application passwords, security keys, the log of logins.
//
// What changes with every login stands in narrow tables, so that it touches few pages.

export const credentials = `
-- An application password; \`selector\` tells which few to hash, \`scopes\` is JSON.
CREATE TABLE asp (
  id TEXT PRIMARY KEY, user INTEGER NOT NULL, selector TEXT NOT NULL, hash TEXT NOT NULL, description TEXT NOT NULL,
  scopes TEXT NOT NULL, ttl INTEGER NOT NULL, expires INTEGER, created INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX asp_user ON asp (user, selector);
-- When and from where one was last used: narrow, since it changes with every login.
CREATE TABLE asp_use (
  asp TEXT PRIMARY KEY, user INTEGER NOT NULL, at INTEGER NOT NULL, event TEXT, ip TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX asp_use_user ON asp_use (user);

-- A security key. \`public_key\` is a COSE_Key, \`counter\` the last one it showed.
CREATE TABLE credential (
  id TEXT PRIMARY KEY, user INTEGER NOT NULL, raw_id TEXT NOT NULL, public_key TEXT NOT NULL, counter INTEGER NOT NULL,
  description TEXT NOT NULL, attachment TEXT NOT NULL, created INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX credential_raw ON credential (user, raw_id);

-- What happened around an account's logins. Rows with the same \`key\` within hours are one; \`body\` is JSON.
CREATE TABLE authlog (
  id TEXT PRIMARY KEY, user INTEGER NOT NULL, key TEXT NOT NULL, action TEXT NOT NULL, ip TEXT NOT NULL,
  created INTEGER NOT NULL, last INTEGER NOT NULL, expires INTEGER NOT NULL, events INTEGER NOT NULL, body TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX authlog_user ON authlog (user, id);
CREATE INDEX authlog_key ON authlog (user, key, created);
CREATE INDEX authlog_expires ON authlog (expires);

-- Tokens by their end.
CREATE INDEX token_expires ON token (expires) WHERE expires IS NOT NULL;

-- When an account was last entered.
CREATE TABLE login (user INTEGER PRIMARY KEY, at INTEGER NOT NULL);
`
