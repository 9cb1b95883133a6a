// The pages that are made from definitions say what the definitions say.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listKeys } from '#config'
import { faultForms } from '#lib/fault.ts'
import { pages } from '../../deploy/reference.ts'

test.each(Object.entries(await pages()))('docs/reference/%s is what node deploy/reference.ts writes', (name, text) => {
  expect(readFileSync(join('docs/reference', name), 'utf8')).toBe(text)
})

test('each setting, command and refusal has its place', async () => {
  const { 'settings.md': settings, 'commands.md': commands, 'errors.md': errors } = await pages()
  for (const { name } of listKeys()) expect(settings).toContain(`| \`${name.slice(name.lastIndexOf('.') + 1)}\` |`)
  for (const code of Object.keys(faultForms)) expect(errors).toContain(`| \`${code}\` |`)
  for (const name of ['setup', 'doctor', 'user add', 'queue retry']) expect(commands).toContain(`## teal ${name}\n`)
})
