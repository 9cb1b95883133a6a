// The addresses of mail's own places: the folder as the path, the rest behind the question mark.

export function withWords(folder: string, words: Readonly<Record<string, string>>): string {
  const kept = new URLSearchParams(words)
  return `/mail/${folder}${kept.size === 0 ? '' : `?${kept}`}`
}
