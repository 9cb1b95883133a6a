// Subjects: what two messages of one conversation share (RFC 5256 2.1), and what an answer is called.
//
// Promises: linear and bounded; `baseSubject` follows RFC 5256, with the marks of other languages that mail programs
// really write before an answer.

const subjectLengthMax = 1000
const answer =
  /^(?:re|aw|antw|sv|vs|rv|r|odp|ynt|fwd?|wg|tr|enc|i|doorst|vb|vl)\s{0,9}(?:\[[^[\]]{0,100}\])?\s{0,9}(?:\(\d{1,4}\))?[:：]\s*/i
const blob = /^\[[^[\]]{0,200}\]\s*/

/** The subject without marks of answers, forwards and lists, white space collapsed; case kept. */
export function baseSubject(subject: string): string {
  let text = subject.slice(0, subjectLengthMax).replace(/\s+/g, ' ').trim()
  for (;;) {
    const before = text
    while (/\(fwd\)$/i.test(text)) text = text.slice(0, -5).trimEnd()
    for (;;) {
      const mark = answer.exec(text)
      if (mark) text = text.slice(mark[0].length)
      else {
        const list = blob.exec(text)
        // A blob that is all there is stays (RFC 5256 2.1 (5)).
        if (!list || list[0].length === text.length) break
        text = text.slice(list[0].length)
      }
    }
    const wrapped = /^\[fwd:(.*)\]$/i.exec(text)
    if (wrapped) text = (wrapped[1] as string).trim()
    if (text === before) return text
  }
}

/** Whether a subject says that it answers or forwards. */
export function isAnswer(subject: string): boolean {
  return answer.test(subject.trimStart()) || /\(fwd\)\s*$|^\s*\[fwd:/i.test(subject.slice(0, subjectLengthMax))
}

/** `Re: ` before a subject that has none yet. */
export function replySubject(subject: string): string {
  return /^re\s*:/i.test(subject.trim()) ? subject.trim() : `Re: ${subject.trim()}`.trimEnd()
}

export function forwardSubject(subject: string): string {
  return /^fwd?\s*:/i.test(subject.trim()) ? subject.trim() : `Fwd: ${subject.trim()}`.trimEnd()
}
