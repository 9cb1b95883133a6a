// The commands of the command line inside a test: as quick as a call, with what they print and how they end. Arguments are read as
// the program reads them; what a process of its own would do besides is for tests that start one.

import { expect, vi } from 'vitest'
import { commandLine } from '#cli/program.ts'
import { Fault } from '#lib/fault.ts'
import type { Body } from '../running.ts'

export interface Commands {
  /** Runs a command to its end, however that is. */
  teal(...words: string[]): Promise<{ code: number; out: string; err: string }>
  /** What one prints for people, that ends well. */
  said(...words: string[]): Promise<string>
  /** What one prints for programs, line by line, that ends well. */
  json(...words: string[]): Promise<Body[]>
}

/** @param dataDir asked when a command runs */
export function commandsOf(dataDir: () => string): Commands {
  const teal: Commands['teal'] = async (...words) => {
    let out = ''
    const written = vi.spyOn(process.stdout, 'write').mockImplementation(text => {
      out += text
      return true
    })
    try {
      await (await commandLine(words)).parseAsync([...words, '--data-dir', dataDir()], { from: 'user' })
      return { code: 0, out, err: '' }
    } catch (error) {
      if (error instanceof Fault) return { code: 1, out, err: `teal: ${error.message}\n` }
      throw error
    } finally {
      written.mockRestore()
    }
  }
  const said = async (...words: string[]) => {
    const { code, out, err } = await teal(...words)
    expect([words.join(' '), code, err]).toEqual([words.join(' '), 0, ''])
    return out.trimEnd()
  }
  const json = async (...words: string[]) =>
    (await said(...words, '--json'))
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line))
  return { teal, said, json }
}
