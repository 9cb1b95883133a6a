// What stands below letters from an address.

export const signed = `
ALTER TABLE address ADD COLUMN signature TEXT;
`
