// Searches that wait to be applied are written as trees of today's leaves.
//
// Texts within them are left as they are.

export const trees = `
-- Searches that wait to be applied, as trees of today's leaves. A quotation mark within a text has a backslash before it.
UPDATE task SET input = replace(input, '{"op":"word",', '{"op":"words","in":"anywhere",') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"phrase",', '{"op":"words","in":"said",') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"from",', '{"op":"words","in":"from",') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"to",', '{"op":"words","in":"recipients",') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"cc",', '{"op":"words","in":"cc",') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"bcc",', '{"op":"words","in":"bcc",') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"subject",', '{"op":"words","in":"subject",') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"flagged"}', '{"op":"flag","bit":4}') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"seen"}', '{"op":"flag","bit":1}') WHERE kind = 'search.apply';
UPDATE task SET input = replace(input, '{"op":"unseen"}', '{"op":"not","of":{"op":"flag","bit":1}}')
  WHERE kind = 'search.apply';
`
