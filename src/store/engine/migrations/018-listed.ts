// Header lines that lists of messages are made of, ready to be sent.
//
// They can be made anew from what is stored.

export const listed = `
-- Header lines that lists are made of. Beside the outlines, so that many lie in one page; there is none for messages of
-- old and for headers that are too long.
CREATE TABLE header (body INTEGER PRIMARY KEY, lines TEXT NOT NULL);
`
