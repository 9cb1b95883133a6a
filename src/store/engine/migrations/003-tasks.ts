// Work that outlives the call that asked for it.
//
// A task is taken when it is due, may be broken off anywhere and is taken again.

export const tasks = `
-- Work that outlives the call that asked for it. State: queued, running, done, failed; \`due\` is when it is taken (again).
CREATE TABLE task (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, user TEXT, state TEXT NOT NULL, due INTEGER NOT NULL,
  attempts INTEGER NOT NULL, input TEXT NOT NULL, result TEXT NOT NULL, created INTEGER NOT NULL,
  updated INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX task_due ON task (due) WHERE state IN ('queued', 'running');
CREATE INDEX task_user ON task (user, id);
`
