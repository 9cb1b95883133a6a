// What was decided about a message is found by its Message-ID, whoever got it.

export const traced = `
CREATE INDEX trace_reference ON trace (reference);
`
