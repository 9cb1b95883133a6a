// Contacts of accounts.

export const contacts = `
CREATE TABLE contact (
  id TEXT NOT NULL PRIMARY KEY,
  "user" INTEGER NOT NULL,
  uid TEXT NOT NULL,
  sort TEXT NOT NULL,
  words TEXT NOT NULL,
  card TEXT NOT NULL,
  created INTEGER NOT NULL,
  changed INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX contact_uid ON contact ("user", uid);
CREATE INDEX contact_sort ON contact ("user", sort, id);
`
