// Messages on their way out and their targets.
//
// Found by what is due, and by where it goes.

export const outgoing = `
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
