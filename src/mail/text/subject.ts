// Subjects: what two messages of one conversation share (RFC 5256 2.1), and what an answer is called.
//
// Promises: linear and bounded; the base is that of RFC 5256 and no more, since a client that sorts by itself must come to
// the same order.

/** Characters of a subject that are looked at. */
const subjectLengthMax = 1000
/** subj-refwd. */
const mark = /^(?:re|fwd?) ?(?:\[[^[\]]*\] ?)?:/i
/** subj-blob. */
const blob = /^\[[^[\]]*\] ?/
const wrapping = /^\[fwd:(.*)\]$/i

export interface BaseSubject {
  /** Without marks of answers, forwards and lists, white space collapsed; case kept. */
  readonly base: string
  /** Whether there was a mark of an answer or a forward. */
  readonly answers: boolean
}

/** The base subject (RFC 5256 2.1). */
export function baseSubject(subject: string): BaseSubject {
  // (1) to (6) as they are numbered there.
  let text = subject.slice(0, subjectLengthMax).replace(/[ \t\r\n]+/g, ' ')
  let answers = false
  for (;;) {
    text = text.replace(/^ | $/g, '')
    while (/\(fwd\)$/i.test(text)) {
      text = text.slice(0, -5).replace(/ $/, '')
      answers = true
    }
    for (let rest = behindMark(text); rest !== undefined; rest = behindMark(text)) {
      text = rest
      answers = true
    }
    text = behindBlobs(text)
    const wrapped = wrapping.exec(text)
    if (wrapped === null) return { base: text, answers }
    text = wrapped[1] as string
    answers = true
  }
}

/** What follows subj-leader: blobs, if any, and a mark. */
function behindMark(text: string): string | undefined {
  let rest = text
  for (;;) {
    const found = mark.exec(rest)
    if (found !== null) return rest.slice(found[0].length).replace(/^ /, '')
    const list = blob.exec(rest)
    if (list === null) return undefined
    rest = rest.slice(list[0].length)
  }
}

/** What follows all blobs; one that is all there is stays. */
function behindBlobs(text: string): string {
  let rest = text
  for (;;) {
    const list = blob.exec(rest)
    if (list === null || list[0].length === rest.length) return rest
    rest = rest.slice(list[0].length)
  }
}

/** `Re: ` before a subject that has none yet. */
export function replySubject(subject: string): string {
  return /^re\s*:/i.test(subject.trim()) ? subject.trim() : `Re: ${subject.trim()}`.trimEnd()
}

export function forwardSubject(subject: string): string {
  return /^fwd?\s*:/i.test(subject.trim()) ? subject.trim() : `Fwd: ${subject.trim()}`.trimEnd()
}
