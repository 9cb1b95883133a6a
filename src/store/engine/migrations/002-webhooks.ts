// Subscriptions, and deliveries of events to them.
//
// Made of rows that wait, so that a delivery outlives the process that began it.

export const webhooks = `
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
