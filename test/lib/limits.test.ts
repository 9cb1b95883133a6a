// Limits whose number has a reason outside of their own line: what a standard asks for at least, and what one limit owes to
// another. Whoever changes one of them finds the reason here.

import { expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'

const { smtp, http, imap, pop3, outbound, mime, body, writer, actor, pace, compose } = limits
const minute = 60_000

test.each([
  ['recipients of a message (RFC 5321 4.5.3.1.8)', smtp.recipientsMax, 100],
  ['recipients of a transaction on its way out (RFC 5321 4.5.3.1.8)', outbound.recipientsMax, 100],
  ['a command line of SMTP (RFC 5321 4.5.3.1.4)', smtp.commandBytesMax, 512],
  ['a path with its brackets (RFC 5321 4.5.3.1.3)', smtp.pathBytesMax, 256],
  ['silence in SMTP (RFC 5321 4.5.3.2.7)', smtp.idleMs, 5 * minute],
  ['silence in IMAP (RFC 9051 5.4)', imap.idleMs, 30 * minute],
  ['silence in POP3 (RFC 1939 3)', pop3.idleMs, 10 * minute],
  ['a command line of POP3 (RFC 2449 4)', pop3.lineBytesMax, 255],
  ['a boundary (RFC 2046 5.1.1)', mime.boundaryLengthMax, 70],
  ['a command line of IMAP (RFC 7162 4)', imap.commandBytesMax, 8192],
] as const)('%s is at least what the standard asks for', (_, value, least) => {
  expect(value).toBeGreaterThanOrEqual(least)
})

test.each([
  ['ids in memory, ids remembered', actor.referencesReadMax, actor.referencesMax],
  ['a slice where others act, any other slice', pace.busySliceMs, pace.sliceMs],
  ['pages that begin a copy of the log, pages at which the writer waits', writer.checkpointPages, writer.logPagesMax],
  ['bytes that leave at once, bytes of a transaction', writer.leaveBytes, writer.batchBytesMax],
  ['bytes of a transaction, bytes that wait', writer.batchBytesMax, writer.pendingBytesMax],
  ['a small part, a part that is a row', body.sharedPartBytesMin, body.inlineBytesMax],
  ['a part that is a row, a body that is put together at once', body.inlineBytesMax, body.wholeBytesMax],
  ['a body that is put together at once, a message', body.wholeBytesMax, body.messageBytesMax],
  ['a refused message that is read to its end, the greatest message', body.messageBytesMax, smtp.discardBytesMax],
  ['the same over HTTP', http.uploadBytesMax, http.discardBytesMax],
  ['the same in IMAP', body.messageBytesMax, imap.discardMessageBytesMax],
  ['a line before login, a line after it', imap.commandBytesBeforeLoginMax, imap.commandBytesMax],
  ['lines kept for lists, the header they are of', mime.listedLinesMax, mime.listedHeaderBytesMax],
  ['a header, all headers of a message', mime.headerBytesMax, mime.headersBytesMax],
  ['one text of a message that is written, the greatest message', compose.textLengthMax, body.messageBytesMax],
] as const)('%s: the first is not the greater one', (_, less, more) => {
  expect(less).toBeLessThanOrEqual(more)
})

test('the text criteria of one search are the bits of a whole number without its sign', () => {
  expect(1 << (imap.searchTextsMax - 1)).toBeGreaterThan(0)
})
