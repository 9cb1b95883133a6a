// Reports that others send about domains of this service.

export const arrived = `
CREATE TABLE arrived_report (
  kind TEXT NOT NULL, domain TEXT NOT NULL, reporter TEXT NOT NULL, report_id TEXT NOT NULL, begin INTEGER NOT NULL,
  "end" INTEGER NOT NULL, total INTEGER NOT NULL, failed INTEGER NOT NULL, rows TEXT NOT NULL, received INTEGER NOT NULL,
  PRIMARY KEY (kind, domain, reporter, report_id)
) WITHOUT ROWID;
CREATE INDEX arrived_report_begin ON arrived_report (domain, begin);
CREATE INDEX arrived_report_received ON arrived_report (received);
`
