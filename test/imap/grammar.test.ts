// What is said of each real message holds to the grammar; and the grammar that tests hold everything against refuses what is none.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { useTeal } from '../running.ts'
import { append, Client } from './client.ts'
import { checkResponse } from './grammar.ts'

const service = useTeal()
const corpus = join(import.meta.dirname, '../corpus')
const files = readdirSync(corpus, { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile() && /\.(?:eml|msg|txt)$/.test(entry.name))
  .map(entry => join(entry.parentPath, entry.name))

const asked = [
  'FAST',
  'FULL',
  '(ENVELOPE BODYSTRUCTURE PREVIEW SAVEDATE EMAILID THREADID MODSEQ)',
  '(BODY.PEEK[HEADER.FIELDS (From To "Subject" X-None)] BODY.PEEK[1] BODY.PEEK[1.MIME] BODY.PEEK[TEXT]<3.40> BINARY.SIZE[])',
  '(RFC822.HEADER RFC822.TEXT BODY.PEEK[]<0.1> BINARY.PEEK[]<0.100>)',
]

test.each([[''], ['IMAP4rev2'], ['UTF8=ACCEPT']])('all that is said of real messages with ENABLE %s', async enabled => {
  const user = `grammar${enabled.slice(0, 4).toLowerCase()}`
  await service.user(user)
  const client = await Client.login(service.at('imap'), user, 'INBOX')
  if (enabled !== '') await client.ok(`ENABLE ${enabled}`)
  expect(files.length).toBeGreaterThan(100)
  for (const file of files) {
    const { status } = await client.ask(append('INBOX', readFileSync(file).toString('latin1').replaceAll('\0', '')))
    expect(status).toBe('OK')
  }
  for (const items of asked) expect((await client.ok(`FETCH 1:* ${items}`)).length).toBeGreaterThanOrEqual(files.length)
  await client.ok('THREAD REFERENCES UTF-8 ALL')
  await client.ok('SORT RETURN (ALL COUNT MIN MAX) (SUBJECT) UTF-8 ALL')
  client.close()
})

const none = [
  '* 1 FETCH (FLAGS (\\Seen)',
  '* 1 FETCH  (FLAGS ())',
  '* 0 EXPUNGE',
  '* 1 FETCH (UID 0)',
  '* 1 FETCH (ENVELOPE (NIL "a" NIL NIL NIL NIL NIL NIL NIL))',
  '* 1 FETCH (ENVELOPE (NIL "a" () NIL NIL NIL NIL NIL NIL NIL))',
  '* 1 FETCH (ENVELOPE (NIL "gr\xfc" NIL NIL NIL NIL NIL NIL NIL NIL))',
  '* 1 FETCH (BODY ("TEXT" "PLAIN" NIL NIL NIL "7BIT" 3))',
  '* 1 FETCH (BODY ("TEXT" "PLAIN" NIL NIL NIL "7BIT" 3 1 NIL))',
  '* 1 FETCH (BODY ("TEXT" "PLAIN" () NIL NIL "7BIT" 3 1))',
  '* 1 FETCH (BODYSTRUCTURE (("TEXT" "PLAIN" NIL NIL NIL "7BIT" 3 1)))',
  '* 1 FETCH (INTERNALDATE "1-Jan-2026 10:00:00 +0000")',
  '* 1 FETCH (BODY[] {3}\r\nab)',
  '* 1 FETCH (BODY[1.MIME.2] NIL)',
  '* 1 FETCH (BODY[MIME] NIL)',
  '* LIST () "/" a b',
  '* LIST () "//" a',
  '* LIST () "/" "gr\xc3\xbc"',
  '* LIST () "/" a&b',
  '* STATUS a (MESSAGES)',
  '* SEARCH 0',
  '* SEARCH 1 ',
  '* THREAD (1 2 (3))',
  '* ESEARCH (TAG a) ALL 1',
  '* ESEARCH (TAG "a") ALL 1:*',
  '* OK [UIDNEXT 0] x',
  '* OK [FROBNICATE] x',
  '* OK [READ-ONLY]',
  '* OK',
  '* CAPABILITY IDLE',
  't1 MAYBE x',
  't1 OK gr\xc3\xbc\xc3\x9fe',
  '* FROBNICATED',
]

test.each(none.map(text => [text]))('%j is no response', text => {
  expect(() => checkResponse(text, { utf8: false, rev2: false })).toThrow('Not a response of IMAP')
})
