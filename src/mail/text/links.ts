// Where a text names links, found by the colon behind their scheme: there are few of these, and a pattern that is tried at each
// letter of a long text costs more than everything else that is looked for in it.
//
// Promises: finds what the pattern `\b(scheme)` with `rest` behind it would, from left to right, none within another; linear as long
// as `rest` is bounded.

/** The longest name of a scheme that is looked for, and the letter before it. */
const lookBehind = 7

/**
 * Each as the scheme and the groups of `rest`.
 *
 * @param scheme matches its name at the end of a text, with `\b` in front; six letters at most
 * @param rest sticky; what has to follow the colon
 */
export function* linksIn(text: string, scheme: RegExp, rest: RegExp): Generator<RegExpExecArray> {
  let from = 0
  for (let colon = text.indexOf(':'); colon >= 0; colon = text.indexOf(':', Math.max(colon + 1, from))) {
    const before = scheme.exec(text.slice(Math.max(0, colon - lookBehind), colon))
    if (before === null || colon - before[0].length < from) continue
    rest.lastIndex = colon + 1
    const found = rest.exec(text)
    if (found === null) continue
    from = rest.lastIndex
    found[0] = before[0]
    yield found
  }
}
