// How deep somebody's HTML goes, seen before it is parsed: browsers take a time that grows with the square of it, and minutes for
// what is made to be deep.
//
// Only what has to be closed counts, so that the paragraphs of careless letters do not.

const holders = /<(\/?)(?:table|div|span|font|center|blockquote|section|article|[uod]l|[bi]|strong|em|svg|math)\b/gi

/** Deeper is shown as text first. */
const deepMin = 300
/** Deeper is not shown with its form at all. */
const endlessMin = 3000

export function isDeep(html: string): boolean {
  return depthOf(html) >= deepMin
}

export function isEndless(html: string): boolean {
  return depthOf(html) >= endlessMin
}

function depthOf(html: string): number {
  let depth = 0
  let most = 0
  for (const [, closes] of html.matchAll(holders)) {
    depth = closes === '' ? depth + 1 : Math.max(0, depth - 1)
    if (depth > most) most = depth
    if (most >= endlessMin) break
  }
  return most
}
