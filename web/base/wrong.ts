// What the service finds wrong with a field, in the language of the page: it says so in English, in few forms.
//
// What has another form is quoted, so that nothing is kept from anybody.

import { baseTexts } from '../texts/texts.ts'
import { number } from './language.ts'

type Texts = typeof baseTexts.value.wrong

/** How the service puts it, and what is told; numbers in it are those of the pattern. */
const forms: readonly (readonly [RegExp, (texts: Texts, ...numbers: string[]) => string])[] = [
  [/ is required$/, texts => texts.required],
  [/ length must be at least (\d+) characters long$/, (texts, least = '') => texts.tooShort(least)],
  [/ length must be less than or equal to (\d+) characters long$/, (texts, most = '') => texts.tooLong(most)],
  [/ length must be (\d+) characters long$/, (texts, exact = '') => texts.notAsLong(exact)],
  [
    / length must be between (\d+) and (\d+) characters long$/,
    (texts, least = '', most = '') => texts.notBetween(least, most),
  ],
  [/ must be a(?: safe)? number$/, texts => texts.noNumber],
  [/ must be (?:an integer|a whole number)$/, texts => texts.notWhole],
  [/ must be greater than or equal to (\d+)$/, (texts, least = '') => texts.tooSmall(least)],
  [/ must be less than or equal to (\d+)$/, (texts, most = '') => texts.tooLarge(most)],
  [/ must be less than or equal to (\d+) bytes(?: as JSON)?$/, (texts, most = '') => texts.tooManyBytes(most)],
  [/ must contain at least (\d+) items$/, (texts, least = '') => texts.tooFew(least)],
  [/ must contain less than or equal to (\d+) items$/, (texts, most = '') => texts.tooMany(most)],
  [/ must be (?:a valid email|an address)$/, texts => texts.noAddress],
  [/ must be a(?: valid)? (?:uri|URL)\b/, texts => texts.noUrl],
  [/ must be an (?:email )?address or a(?:n smtp| URL)\b/, texts => texts.noTarget],
  [/ must be a valid hostname$/, texts => texts.noHost],
  [/ must be a valid ip address\b/, texts => texts.noNetworkAddress],
  [/ must be a valid date$/, texts => texts.noDate],
  [/ must be (?:later than now|in the future)$/, texts => texts.past],
  [/ must (?:be before to|not be before start)$/, texts => texts.wrongOrder],
  [/ (?:fails to match the required|matches the inverted) pattern\b/, texts => texts.wrongSigns],
  [/ is not a valid expression at position (\d+)\b/, (texts, place = '') => texts.noExpression(place)],
  [/ must be one of \[/, texts => texts.notOffered],
]

/** @param said `"username" length must be at least 3 characters long` */
export function wrongText(said: string): string {
  const texts = baseTexts.value.wrong
  for (const [pattern, text] of forms) {
    const found = pattern.exec(said)
    if (found !== null) return text(texts, ...found.slice(1).map(digits => number(Number(digits))))
  }
  return texts.other(said)
}
