// Bodies that are longer where they go out line by line.
//
// Of those that were stored before nobody knows it: they count as what they are.

export const asLines = `
CREATE TABLE as_lines (
  body INTEGER NOT NULL PRIMARY KEY,
  added INTEGER NOT NULL
);
`
