// Bodies whose header fields may say more than the index of texts holds of them.
//
// All that was indexed before counts as such: nobody has looked.

export const loose = `
CREATE INDEX search_loose ON search_doc ("user", body) WHERE indexed = 1;
`
