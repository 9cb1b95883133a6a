// The tables, a sentence each, and the numbered migrations that make them.
//
// A migration runs inside one transaction and is never changed once released; `user_version` counts them. A database
// that is newer than this program is refused. Rows that come by the thousand have integer keys given out by the
// service (sequence.ts); hot counters live in narrow tables of their own so that one page serves many users. No
// foreign keys: units are written whole, and the checker (check.ts) proves every reference.

import { Fault } from '#lib/fault.ts'
import type { Handle } from './sqlite.ts'

const first = `
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

const webhooks = `
-- Where deliveries go: one row for each distinct URL, with how it has been doing. \`paused\` is when it was paused.
CREATE TABLE endpoint (
  num INTEGER PRIMARY KEY, url TEXT NOT NULL, failures INTEGER NOT NULL, failing_since INTEGER,
  paused INTEGER, reason TEXT
);
CREATE UNIQUE INDEX endpoint_url ON endpoint (url);

-- A subscription; \`type\` is a JSON array of event names and wildcards, \`user\` limits it to one account's events.
CREATE TABLE webhook (
  id TEXT PRIMARY KEY, endpoint INTEGER NOT NULL, type TEXT NOT NULL, user TEXT, secret TEXT, created INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX webhook_endpoint ON webhook (endpoint);

-- An event on its way to subscribers: moved here from \`event\`, gone with its last delivery. The body stands last, so
-- that reading the rest does not touch its pages.
CREATE TABLE payload (
  event INTEGER PRIMARY KEY, at INTEGER NOT NULL, name TEXT NOT NULL, user TEXT, body TEXT NOT NULL
);

-- One event for one subscription; \`n\` counts the subscriptions the event matched. State 0: not tried yet, 1: tried or
-- being tried, next time at \`due\`, 2: dead. A delivery that arrived has no row.
CREATE TABLE delivery (
  event INTEGER NOT NULL, n INTEGER NOT NULL, endpoint INTEGER NOT NULL, webhook TEXT NOT NULL, state INTEGER NOT NULL,
  attempts INTEGER NOT NULL, due INTEGER NOT NULL, since INTEGER, tried INTEGER, failure TEXT, status INTEGER,
  PRIMARY KEY (event, n)
) WITHOUT ROWID;
CREATE INDEX delivery_endpoint ON delivery (endpoint, state, event, n);
`

const tasks = `
-- Work that outlives the call that asked for it. State: queued, running, done, failed; \`due\` is when it is taken (again).
CREATE TABLE task (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, user TEXT, state TEXT NOT NULL, due INTEGER NOT NULL,
  attempts INTEGER NOT NULL, input TEXT NOT NULL, result TEXT NOT NULL, created INTEGER NOT NULL,
  updated INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX task_due ON task (due) WHERE state IN ('queued', 'running');
CREATE INDEX task_user ON task (user, id);
`

const archive = `
-- A message that was deleted and is kept for some time. It keeps its body and does not count against the quota.
CREATE TABLE archive (
  num INTEGER PRIMARY KEY, user INTEGER NOT NULL, mailbox INTEGER NOT NULL, mailbox_id TEXT NOT NULL,
  path TEXT NOT NULL, uid INTEGER NOT NULL, flags INTEGER NOT NULL, idate INTEGER NOT NULL, size INTEGER NOT NULL,
  thread INTEGER NOT NULL, body INTEGER NOT NULL, saved INTEGER NOT NULL, attachments INTEGER NOT NULL, keywords TEXT,
  prefix TEXT NOT NULL, meta TEXT NOT NULL, archived INTEGER NOT NULL, expires INTEGER NOT NULL
);
CREATE INDEX archive_user ON archive (user, idate, num);
CREATE INDEX archive_expires ON archive (expires);
-- How many an account has: read, never counted.
CREATE TABLE archive_tally (user INTEGER PRIMARY KEY, total INTEGER NOT NULL);
`

const search = `
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

const outgoing = `
-- A message on its way out, or lately gone. \`body\` is null once nobody waits for it; \`done\` is when that was.
CREATE TABLE outbound (
  num INTEGER PRIMARY KEY, user TEXT, sender TEXT NOT NULL, origin TEXT NOT NULL, body INTEGER, prefix TEXT NOT NULL,
  size INTEGER NOT NULL, created INTEGER NOT NULL, done INTEGER, options TEXT NOT NULL
);
CREATE INDEX outbound_user ON outbound (user, num) WHERE user IS NOT NULL;
CREATE INDEX outbound_done ON outbound (done) WHERE done IS NOT NULL;
-- One target of it. State 0: waits for \`due\`, 1: being sent, again at \`due\` if nobody says how it went, 2: delivered,
-- 3: failed for good, 4: cancelled. \`lane\` names where it goes, so that one slow host holds up nobody else.
CREATE TABLE outbound_target (
  message INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL, lane TEXT NOT NULL,
  state INTEGER NOT NULL, attempts INTEGER NOT NULL, due INTEGER NOT NULL, tried INTEGER, failure TEXT, status INTEGER,
  response TEXT, warned INTEGER,
  PRIMARY KEY (message, seq)
) WITHOUT ROWID;
CREATE INDEX outbound_due ON outbound_target (due) WHERE state < 2;
CREATE INDEX outbound_lane ON outbound_target (lane, due) WHERE state < 2;
`

const rules = `
-- A filter of an account: conditions and actions as JSON. Filters are evaluated in the order of \`num\`. \`offences\` is
-- JSON about patterns of it that took too long.
CREATE TABLE filter (
  num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, user INTEGER NOT NULL, name TEXT, disabled INTEGER NOT NULL,
  query TEXT NOT NULL, action TEXT NOT NULL, meta TEXT, offences TEXT, created INTEGER NOT NULL
);
CREATE INDEX filter_user ON filter (user, num);
-- What an account answers by itself. Whether it does is in the account's options, too.
CREATE TABLE autoreply (
  user INTEGER PRIMARY KEY, id TEXT NOT NULL, status INTEGER NOT NULL, name TEXT NOT NULL, subject TEXT NOT NULL,
  text TEXT NOT NULL, html TEXT NOT NULL, starts INTEGER, ends INTEGER, created INTEGER NOT NULL
);
-- What the rules of an account decided about one message, as JSON. \`message\` is the stored message's number, null where
-- none was stored.
CREATE TABLE trace (
  user INTEGER NOT NULL, num INTEGER NOT NULL, at INTEGER NOT NULL, message INTEGER, mailbox INTEGER, uid INTEGER,
  reference INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (user, num)
) WITHOUT ROWID;
CREATE INDEX trace_at ON trace (at);
`

const accounts = `
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

const credentials = `
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

const domainKeys = `
-- A certificate for a host name; \`key\` is sealed, \`cert\` null until ACME has fetched it, \`names\` a JSON array.
CREATE TABLE certificate (
  id TEXT PRIMARY KEY, servername TEXT NOT NULL, description TEXT, key TEXT NOT NULL, cert TEXT,
  fingerprint TEXT NOT NULL, names TEXT NOT NULL, expires INTEGER, acme INTEGER NOT NULL,
  autogenerated INTEGER NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL
);
CREATE UNIQUE INDEX certificate_servername ON certificate (servername);

-- The account with an ACME server: \`key\` is sealed, \`url\` null until the server knows it.
CREATE TABLE acme_account (directory TEXT PRIMARY KEY, key TEXT NOT NULL, url TEXT) WITHOUT ROWID;

-- How far the fetching of a certificate by ACME is: when it is tried next, the end of the certificate that this was
-- planned by, failures in a row and why the last one was, and the order under way with the key it is for, sealed.
CREATE TABLE acme_order (
  certificate TEXT PRIMARY KEY, due INTEGER NOT NULL, expires INTEGER, attempts INTEGER NOT NULL, failure TEXT,
  directory TEXT, url TEXT, key TEXT
) WITHOUT ROWID;

-- The key that signs the mail of a domain; \`key\` is sealed.
CREATE TABLE dkim (
  id TEXT PRIMARY KEY, domain TEXT NOT NULL, selector TEXT NOT NULL, description TEXT, key TEXT NOT NULL,
  public TEXT NOT NULL, fingerprint TEXT NOT NULL, created INTEGER NOT NULL
);
CREATE UNIQUE INDEX dkim_domain ON dkim (domain);
`

const transfer = `
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

const attached = `
-- The messages within a message are searched, too: bodies that have some are indexed again.
CREATE TEMP TABLE holding AS SELECT (user << 32) | body AS num, user, body FROM search_doc WHERE indexed = 1 AND body IN
  (SELECT body FROM outline WHERE bodystructure LIKE '%("MESSAGE" "RFC822" %' OR bodystructure LIKE '%("MESSAGE" "GLOBAL" %');
DELETE FROM search WHERE rowid IN (SELECT num FROM holding);
DELETE FROM search_word WHERE rowid IN (SELECT num FROM holding);
UPDATE search_doc SET indexed = 0 WHERE (body, user) IN (SELECT body, user FROM holding);
DROP TABLE holding;
`

const told = `
-- The uid from which no IMAP session was told of the messages of a folder (RFC 3501 2.3.2); what is there already is old.
ALTER TABLE tally ADD COLUMN told INTEGER NOT NULL DEFAULT 1;
UPDATE tally SET told = uid_next;
`

const readable = `
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

const waiting = `
-- What waits to be sent is found among all that was.
CREATE INDEX outbound_waiting ON outbound (num) WHERE done IS NULL;
`

const strays = `
-- A file of a body that no row names: on how many days it was seen so, and the last of them (days since 1970).
CREATE TABLE stray (name TEXT PRIMARY KEY, days INTEGER NOT NULL, last INTEGER NOT NULL) WITHOUT ROWID;
-- Parts that lie in files, found without reading those that do not.
CREATE INDEX part_file ON part (num) WHERE file = 1;
`

const trees = `
-- Searches that wait to be applied, as trees of today's leaves. A quotation mark within a text has a backslash before it.
UPDATE task SET input = replace(input, '{"op":"word",', '{"op":"words","in":"anywhere",') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"phrase",', '{"op":"words","in":"said",') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"from",', '{"op":"words","in":"from",') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"to",', '{"op":"words","in":"recipients",') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"cc",', '{"op":"words","in":"cc",') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"bcc",', '{"op":"words","in":"bcc",') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"subject",', '{"op":"words","in":"subject",') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"flagged"}', '{"op":"flag","bit":4}') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"seen"}', '{"op":"flag","bit":1}') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"unseen"}', '{"op":"not","of":{"op":"flag","bit":1}}')
  WHERE kind = 'search.apply';
`

const listed = `
-- Header lines that lists are made of. Beside the outlines, so that many lie in one page; there is none for messages of
-- old and for headers that are too long.
CREATE TABLE header (body INTEGER PRIMARY KEY, lines TEXT NOT NULL);
`

const spam = `
-- What accounts say about spam by moving mail. counted: what the model of the account has counted, 1 spam, 0 ham, null nothing.
CREATE TABLE spam_mark ("user" INTEGER NOT NULL, reference INTEGER NOT NULL, spam INTEGER NOT NULL, counted INTEGER,
  waits INTEGER NOT NULL, body INTEGER NOT NULL, at INTEGER NOT NULL, features BLOB, PRIMARY KEY ("user", reference)) WITHOUT ROWID;
CREATE INDEX spam_waiting ON spam_mark ("user", at) WHERE waits = 1;
CREATE INDEX spam_kept ON spam_mark ("user", spam, at) WHERE features IS NOT NULL;
CREATE INDEX spam_at ON spam_mark ("user", at);
-- What was learned of it; account 0 is what all share.
CREATE TABLE spam_model ("user" INTEGER PRIMARY KEY, rev INTEGER NOT NULL, version INTEGER NOT NULL, spam INTEGER NOT NULL,
  ham INTEGER NOT NULL, data BLOB NOT NULL);
`

/** Migrations in order; the number of one is its place, counted from 1. */
export const migrations: readonly string[] = [
  first,
  webhooks,
  tasks,
  archive,
  search,
  outgoing,
  rules,
  accounts,
  credentials,
  domainKeys,
  transfer,
  attached,
  told,
  readable,
  waiting,
  strays,
  trees,
  listed,
  spam,
]

/**
 * Brings the database up to this program's schema, each step in a transaction of its own.
 *
 * @returns whether there was none
 * @throws Fault DatabaseTooNew when the database was written by a later program, DataMissing where it is empty and must not be
 */
export function migrate(handle: Handle, mayBeNew = true): boolean {
  const version = Number(handle.pragma('user_version', { simple: true }))
  if (version === 0 && !mayBeNew) throw new Fault('DataMissing')
  if (version > migrations.length) throw new Fault('DatabaseTooNew')
  for (let step = version; step < migrations.length; step++) {
    handle.transaction(() => {
      handle.exec(migrations[step] ?? '')
      handle.pragma(`user_version = ${step + 1}`)
    })()
  }
  return version === 0
}
