// What no IMAP session was told of yet, for \Recent.
//
// Messages that are there already count as told.

export const told = `
-- The uid from which no IMAP session was told of the messages of a folder (RFC 3501 2.3.2); what is there already is old.
ALTER TABLE tally ADD COLUMN told INTEGER NOT NULL DEFAULT 1;
UPDATE tally SET told = uid_next;
`
