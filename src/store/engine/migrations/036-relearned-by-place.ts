// What is learned of spam tells words by where they stand: everything that was said is learned again, from the messages that
// are still there.
//
// What was counted goes with the models that counted it, so that nothing is counted twice.

export const relearnedByPlace = `
UPDATE spam_mark SET counted = NULL, waits = 1, features = NULL;
DELETE FROM spam_model;
`
