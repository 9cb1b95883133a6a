// By what the host of an attempt was proven: its TLSA records, an MTA-STS policy, or nothing.

export const proven = `
ALTER TABLE outbound_attempt ADD COLUMN security TEXT;
`
