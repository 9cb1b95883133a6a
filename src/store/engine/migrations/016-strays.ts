// Files of bodies that no row names, and parts that lie in files.
//
// A file is taken away only after it was seen so on several days.

export const strays = `
-- A file of a body that no row names: on how many days it was seen so, and the last of them (days since 1970).
CREATE TABLE stray (name TEXT PRIMARY KEY, days INTEGER NOT NULL, last INTEGER NOT NULL) WITHOUT ROWID;
-- Parts that lie in files, found without reading those that do not.
CREATE INDEX part_file ON part (num) WHERE file = 1;
`
