// What a letter is read with, and written: more than the list is, so it comes when that is there (later.ts).

export { Reader } from './read/reader.tsx'
export { answer, newLetter } from './write/answer.ts'
export { Writers } from './write/writer.tsx'
export { leaveLetters, restoreLetters } from './write/writing.ts'
