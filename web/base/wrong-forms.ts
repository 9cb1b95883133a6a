// Forms in which the service says in English what is wrong with a field, by the page's word for each; numbers in a form are told with it.
//
// The service says the same over the wire, which a test holds against these (test/http/wrong-forms.test.ts).

export const wrongForms = {
  required: / is required$/,
  tooShort: / length must be at least (\d+) characters long$/,
  tooLong: / length must be less than or equal to (\d+) characters long\b/,
  notAsLong: / length must be (\d+) characters long$/,
  notBetween: / length must be between (\d+) and (\d+) characters long$/,
  noNumber: / must be a(?: safe)? number$/,
  notWhole: / must be (?:an integer|a whole number)$/,
  tooSmall: / must be greater than or equal to (\d+)$/,
  tooLarge: / must be less than or equal to (\d+)$/,
  tooManyBytes: / must be less than or equal to (\d+) bytes(?: as JSON)?$/,
  tooMany: / must contain less than or equal to (\d+) items$/,
  noAddress: / must be (?:a valid email|an address)$/,
  noUrl: / must be a(?: valid)? (?:uri|URL)\b/,
  noTarget: / must be an (?:email )?address or a(?:n smtp| URL)\b/,
  noHost: / must be a valid hostname$/,
  noNetworkAddress: / must be a valid ip address\b/,
  noDate: / must be a valid date$/,
  past: / must be (?:later than now|in the future)$/,
  wrongOrder: / must (?:be before to|not be before start)$/,
  wrongSigns: / (?:fails to match the required|matches the inverted) pattern\b/,
  noExpression: / is not a valid expression at position (\d+)\b/,
  notOffered: / must be one of \[/,
} as const
