// Whom an account itself wrote to, or took for somebody it knows. Of those before nobody can tell: it shows anew.

export const known = `
ALTER TABLE register ADD COLUMN known INTEGER NOT NULL DEFAULT 0;
`
