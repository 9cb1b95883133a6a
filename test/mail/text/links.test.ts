// Links found by their colons: what a pattern that is tried everywhere finds.

import { expect, test } from 'vitest'
import { linksIn } from '#mail/text/links.ts'
import { Chance } from '../corpus.ts'

const scheme = /\b(?:https?|ftp|mailto)$/i
const rest = /\/{0,3}(?:[^\s/@"'<>)]{0,80}@)?([^\s/:?#"'<>)]{0,100})([^\s"'<>)]{0,200})/iy
const everywhere = /\b(https?|ftp|mailto):\/{0,3}(?:[^\s/@"'<>)]{0,80}@)?([^\s/:?#"'<>)]{0,100})([^\s"'<>)]{0,200})/gi

test('links are those that a pattern finds which is tried at each letter', () => {
  const chance = new Chance()
  const pieces = 'http https HTTPS ftp mailto : :// / @ . a. host.test xhttp ſ K é - _ " < ) 1'.split(' ')
  const all = [...pieces, ' ', '\r\n', 'p'.repeat(90), 'q'.repeat(210)]
  for (let round = 0; round < 4000; round++) {
    const text = Array.from({ length: chance.below(14) }, () => chance.pick(all)).join('')
    const wanted = [...text.matchAll(everywhere)].map(([, ...groups]) => groups)
    const found = [...linksIn(text, scheme, rest)].map(groups => [...groups])
    expect(found, `seed ${chance.seed}: ${JSON.stringify(text)}`).toEqual(wanted)
  }
})
