// Lists of words in one parameter, as `tags=a,b` has them.

/** The words between commas, without space around them and without empty ones. */
export function words(commas: string | undefined): string[] {
  return (commas ?? '')
    .split(',')
    .map(word => word.trim())
    .filter(word => word !== '')
}
