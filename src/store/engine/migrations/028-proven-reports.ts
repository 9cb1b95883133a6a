// Who was proven to have sent a report: nobody, of those that are there.

export const provenReports = `
ALTER TABLE arrived_report ADD COLUMN proven TEXT NOT NULL DEFAULT '';
`
