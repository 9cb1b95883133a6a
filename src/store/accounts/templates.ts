// Messages that an operator has put into a folder, for welcoming new users. Read once at start, so that a broken folder is
// noticed then; changing them needs a restart.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'

/**
 * The texts of `*.eml` in a folder, by name; none where `dir` is empty.
 *
 * @throws Fault ConfigInvalid where the folder cannot be read or holds too much
 */
export function readTemplates(dir: string): string[] {
  if (dir === '') return []
  try {
    const names = readdirSync(dir).filter(name => name.endsWith('.eml'))
    const texts = names.sort().map(name => readFileSync(join(dir, name), 'utf8'))
    const { templatesMax, templateBytesMax } = limits.welcome
    if (texts.length <= templatesMax && texts.every(text => Buffer.byteLength(text) <= templateBytesMax)) return texts
  } catch (error) {
    throw new Fault('ConfigInvalid', { text: `the folder ${dir} cannot be read`, cause: error })
  }
  throw new Fault('ConfigInvalid', { text: `the folder ${dir} holds too many or too large messages` })
}
