// The queue of what is to be sent is found among all that was sent.
//
// A partial index: the history may be long, the queue is short.

export const waiting = `
-- What waits to be sent is found among all that was.
CREATE INDEX outbound_waiting ON outbound (num) WHERE done IS NULL;
`
