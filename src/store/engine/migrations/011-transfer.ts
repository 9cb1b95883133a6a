// What was moved in from elsewhere, and looks into the mail of an account.
//
// Both outlive the call that asked for them.

export const transfer = `
-- What was moved in from elsewhere, so that moving it again brings only what is missing: by folder, kind of source, and
-- the name a message has there.
CREATE TABLE imported (
  mailbox INTEGER NOT NULL, source TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (mailbox, source, key)
) WITHOUT ROWID;

-- A look into the mail of an account (\`user\` is its id), for a while. State of its first copy: queued, importing,
-- imported, failed; \`deleted\` is when its time was over.
CREATE TABLE audit (
  id TEXT PRIMARY KEY, user TEXT NOT NULL, starts INTEGER, ends INTEGER, expires INTEGER NOT NULL, notes TEXT NOT NULL,
  meta TEXT NOT NULL, created INTEGER NOT NULL, state TEXT NOT NULL, copied INTEGER NOT NULL, failed INTEGER NOT NULL,
  audited INTEGER NOT NULL, last INTEGER, deleted INTEGER
) WITHOUT ROWID;
CREATE INDEX audit_user ON audit (user) WHERE deleted IS NULL;
CREATE INDEX audit_expires ON audit (expires);
-- A message it holds.
CREATE TABLE audit_message (
  audit TEXT NOT NULL, idate INTEGER NOT NULL, body INTEGER NOT NULL, size INTEGER NOT NULL, flags INTEGER NOT NULL,
  path TEXT NOT NULL, prefix TEXT NOT NULL, sender TEXT NOT NULL, PRIMARY KEY (audit, idate, body)
) WITHOUT ROWID;
`
