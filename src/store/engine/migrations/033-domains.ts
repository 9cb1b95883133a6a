// Domains as things of their own: limits, who looks after them, whether they are open. Accounts are found by theirs.

export const domains = `
CREATE TABLE domain (
  name TEXT PRIMARY KEY,
  description TEXT NOT NULL,
  tags TEXT NOT NULL,
  disabled INTEGER NOT NULL,
  disabled_reason TEXT NOT NULL,
  max_users INTEGER NOT NULL,
  max_addresses INTEGER NOT NULL,
  max_forwards INTEGER NOT NULL,
  quota INTEGER NOT NULL,
  defaults TEXT NOT NULL,
  created INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE domain_admin (
  "user" TEXT NOT NULL,
  domain TEXT NOT NULL,
  PRIMARY KEY ("user", domain)
) WITHOUT ROWID;
CREATE INDEX domain_admin_domain ON domain_admin(domain);

-- That of the main address, worked out by the engine.
ALTER TABLE "user" ADD COLUMN domain TEXT GENERATED ALWAYS AS (substr(address, instr(address, '@') + 1)) VIRTUAL;
CREATE INDEX user_domain ON "user"(domain, quota) WHERE deleted IS NULL;

DROP INDEX address_domain;
CREATE INDEX address_domain ON address(domain, "user");

-- Domains to which a token that belongs to no account is bound; null: to none.
ALTER TABLE token ADD COLUMN domains TEXT;
`
