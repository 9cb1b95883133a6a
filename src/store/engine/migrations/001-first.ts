// The tables that mail, accounts and events began with.
//
// Later steps add to them; what a table is today stands where it is defined (`table()` in its room of the store).

export const first = `
-- Small facts about the database itself.
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- An account. \`key\` is the username without dots; \`options\` is JSON: all that is only ever read with the row.
CREATE TABLE user (
  num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, username TEXT NOT NULL, key TEXT NOT NULL,
  name TEXT NOT NULL, address TEXT NOT NULL, password TEXT NOT NULL, temporary TEXT,
  auth_version INTEGER NOT NULL, disabled INTEGER NOT NULL, suspended INTEGER NOT NULL, activated INTEGER NOT NULL,
  quota INTEGER NOT NULL, tags TEXT NOT NULL, options TEXT NOT NULL, created INTEGER NOT NULL, deleted TEXT
);
CREATE UNIQUE INDEX user_key ON user (key);
CREATE INDEX user_here ON user (id) WHERE deleted IS NULL;

-- What an account uses: bytes stored and the highest change number given out.
CREATE TABLE usage (user INTEGER PRIMARY KEY, storage INTEGER NOT NULL, modseq INTEGER NOT NULL);

-- An address of an account, or one that only forwards (\`user\` null, \`forward\` its JSON). \`key\` has no dots.
CREATE TABLE address (
  id TEXT PRIMARY KEY, key TEXT NOT NULL, address TEXT NOT NULL, domain TEXT NOT NULL, user TEXT, name TEXT NOT NULL,
  tags TEXT NOT NULL, meta TEXT, internal TEXT, forward TEXT, created INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX address_key ON address (key);
CREATE INDEX address_user ON address (user) WHERE user IS NOT NULL;
CREATE INDEX address_domain ON address (domain);

-- A mail folder.
CREATE TABLE mailbox (
  num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, user INTEGER NOT NULL, path TEXT NOT NULL, special_use TEXT,
  uid_validity INTEGER NOT NULL, subscribed INTEGER NOT NULL, hidden INTEGER NOT NULL, encrypt INTEGER NOT NULL,
  retention INTEGER NOT NULL, keywords TEXT NOT NULL, modseq INTEGER NOT NULL, created INTEGER NOT NULL,
  created_modseq INTEGER NOT NULL, path_modseq INTEGER NOT NULL
);
CREATE UNIQUE INDEX mailbox_path ON mailbox (user, path);

-- The counters of a folder: read, never counted.
CREATE TABLE tally (
  mailbox INTEGER PRIMARY KEY, uid_next INTEGER NOT NULL, modseq INTEGER NOT NULL,
  total INTEGER NOT NULL, unseen INTEGER NOT NULL, size INTEGER NOT NULL
);

-- A message in a folder. \`flags\` are bits (mail/flags.ts); \`prefix\` are the header lines added on top of the body.
CREATE TABLE message (
  mailbox INTEGER NOT NULL, uid INTEGER NOT NULL, num INTEGER NOT NULL, user INTEGER NOT NULL,
  modseq INTEGER NOT NULL, flags INTEGER NOT NULL, idate INTEGER NOT NULL, size INTEGER NOT NULL,
  thread INTEGER NOT NULL, body INTEGER NOT NULL, saved INTEGER NOT NULL, attachments INTEGER NOT NULL,
  created_modseq INTEGER NOT NULL, keywords TEXT, expires INTEGER, prefix TEXT NOT NULL, meta TEXT NOT NULL,
  PRIMARY KEY (mailbox, uid)
) WITHOUT ROWID;
CREATE UNIQUE INDEX message_num ON message (num);
-- What changed after it came; what did not is found by its uid (changes.ts).
CREATE INDEX message_changed ON message (mailbox, modseq) WHERE modseq > created_modseq;
CREATE INDEX message_idate ON message (mailbox, idate, uid);
CREATE INDEX message_thread ON message (thread);
CREATE INDEX message_expires ON message (expires) WHERE expires IS NOT NULL;

-- A message that is gone, for clients that were away (RFC 7162).
CREATE TABLE expunged (
  mailbox INTEGER NOT NULL, modseq INTEGER NOT NULL, uid INTEGER NOT NULL, num INTEGER NOT NULL,
  thread INTEGER NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (mailbox, modseq, uid)
) WITHOUT ROWID;

-- A folder that is gone, so that no uid validity is ever used twice and streams can tell.
CREATE TABLE removed_mailbox (
  user INTEGER NOT NULL, modseq INTEGER NOT NULL, mailbox INTEGER NOT NULL, id TEXT NOT NULL, path TEXT NOT NULL,
  uid_validity INTEGER NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (user, modseq, mailbox)
) WITHOUT ROWID;

-- Message-IDs an account has seen, by hash, and the thread each belongs to.
CREATE TABLE reference (
  user INTEGER NOT NULL, hash INTEGER NOT NULL, thread INTEGER NOT NULL, PRIMARY KEY (user, hash)
) WITHOUT ROWID;

-- Received content, shared by the messages that carry it (bodies/writes.ts).
CREATE TABLE body (
  num INTEGER PRIMARY KEY, refs INTEGER NOT NULL, size INTEGER NOT NULL, codec INTEGER NOT NULL,
  recipe BLOB, skeleton BLOB NOT NULL
);
-- A leaf part stored once for everybody: in the row, or in a file named by its hash.
CREATE TABLE part (
  num INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, refs INTEGER NOT NULL, size INTEGER NOT NULL,
  codec INTEGER NOT NULL, file INTEGER NOT NULL, stored INTEGER NOT NULL, data BLOB
);
-- Which parts a body is made of, in order.
CREATE TABLE body_part (
  body INTEGER NOT NULL, seq INTEGER NOT NULL, part INTEGER NOT NULL, PRIMARY KEY (body, seq)
) WITHOUT ROWID;

-- What was worked out about a body when it arrived, so that no listing parses mail again (mail/outline.ts).
CREATE TABLE outline (
  body INTEGER PRIMARY KEY, envelope TEXT NOT NULL, bodystructure TEXT NOT NULL, summary TEXT NOT NULL,
  detail TEXT NOT NULL
);

-- An access token, by the hash of its text.
CREATE TABLE token (
  hash TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, label TEXT NOT NULL, role TEXT NOT NULL, user TEXT,
  auth_version INTEGER NOT NULL, created INTEGER NOT NULL, ttl INTEGER, expires INTEGER, dies INTEGER
) WITHOUT ROWID;
CREATE INDEX token_user ON token (user) WHERE user IS NOT NULL;

-- A setting whose value differs from its default; \`value\` is JSON.
CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Something happened: written with the change it describes, read by the loops of src/jobs.
CREATE TABLE event (
  num INTEGER PRIMARY KEY, name TEXT NOT NULL, user TEXT, body TEXT NOT NULL, at INTEGER NOT NULL
);
`
