// `node bench/validate.ts`: what checking a body costs by our own fields, which also convert, beside TypeBox's compiled form,
// which only checks. The figures of bench/NOTES.md, Checking input, are from here.

import { Bench } from 'tinybench'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { compile, Problems } from '#http/input/validate.ts'
import { composeFields } from '../src/http/api/sending/compose-fields.ts'
import { object } from '../src/http/schema.ts'

const person = Type.Object({ name: Type.Optional(Type.String({ maxLength: 255 })), address: Type.String() })
const plain = Type.Object({
  from: Type.Optional(person),
  to: Type.Optional(Type.Array(person, { maxItems: 1000 })),
  subject: Type.Optional(Type.String({ maxLength: 2048 })),
  text: Type.Optional(Type.String({ maxLength: 1_000_000 })),
  html: Type.Optional(Type.String({ maxLength: 1_000_000 })),
})
const body = {
  from: { name: 'Anna', address: 'anna@example.com' },
  to: [{ address: 'bert@example.com' }, { name: 'Carla', address: 'carla@example.com' }],
  subject: 'Minutes of the meeting',
  text: 'See below. '.repeat(100),
  html: '<p>See below.</p>'.repeat(100),
}
const own = compile(object(composeFields))
const compiled = Compile(plain)

const bench = new Bench({ time: 1000 })
bench.add('own fields: convert, check, name what is wrong', () => {
  const problems = new Problems()
  own(body, '', problems)
  problems.check()
})
bench.add('TypeBox, compiled: check', () => {
  if (!compiled.Check(body)) throw new Error('the body is right')
})
await bench.run()
for (const { name, result } of bench.tasks) {
  if (!('latency' in result)) continue
  process.stdout.write(`${name.padEnd(48)} ${(result.latency.p50 * 1000).toFixed(1).padStart(9)} µs\n`)
}
