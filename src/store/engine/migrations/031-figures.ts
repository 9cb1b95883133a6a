// What is kept of the metrics for some days.

export const figures = `
CREATE TABLE figure (
  step INTEGER NOT NULL, at INTEGER NOT NULL, figures TEXT NOT NULL, PRIMARY KEY (step, at)
) WITHOUT ROWID;
`
