// Files for composing, alias domains, lists of domains, address books.
//
// Each belongs to an account, a domain or a tag.

export const accounts = `
-- A file an account has stored for composing; its content is a body.
CREATE TABLE file (
  id TEXT PRIMARY KEY, user INTEGER NOT NULL, filename TEXT NOT NULL, type TEXT NOT NULL, cid TEXT, size INTEGER NOT NULL,
  body INTEGER NOT NULL, created INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX file_user ON file (user, filename, id);

-- A domain whose addresses are those of another one.
CREATE TABLE domainalias (
  id TEXT PRIMARY KEY, alias TEXT NOT NULL, domain TEXT NOT NULL, created INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX domainalias_alias ON domainalias (alias);
CREATE INDEX domainalias_domain ON domainalias (domain);

-- Senders' domains that accounts with a tag never (\`allow\`) or always (\`block\`) take for junk.
CREATE TABLE domainaccess (
  id TEXT PRIMARY KEY, tag TEXT NOT NULL, domain TEXT NOT NULL, action TEXT NOT NULL, created INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX domainaccess_tag ON domainaccess (tag, domain);
CREATE INDEX domainaccess_domain ON domainaccess (domain);

-- Whom an account has written to or heard from, for completing addresses.
CREATE TABLE register (
  id TEXT PRIMARY KEY, user INTEGER NOT NULL, key TEXT NOT NULL, address TEXT NOT NULL, name TEXT NOT NULL,
  used INTEGER NOT NULL, disabled INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX register_key ON register (user, key);
CREATE INDEX register_used ON register (user, used);
`
