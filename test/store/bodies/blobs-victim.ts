// The process that test/store/bodies/blobs-crash.test.ts kills: stores and drops messages without pause and says on standard
// output what it is about to store or drop ("~num"), what is on disk ("+num") and what is gone ("-num").

import { createHash } from 'node:crypto'
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { makeLog } from '#lib/log.ts'
import { makeMetrics } from '#lib/metrics.ts'
import { Bodies } from '#store/bodies/bodies.ts'
import { bodyAdd, bodyRelease } from '#store/bodies/writes.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { type Operation, operation } from '#store/engine/write.ts'
import { localPlace } from '#store/folder/place.ts'
import { Writer } from '#store/writer/writer.ts'

/** The bytes of message `num`: every third carries a large attachment, of which there are five. */
export function messageOf(num: number): Buffer {
  const head = `Subject: ${num}\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n\r\ntext ${num}\r\n--b\r\n`
  const size = num % 3 === 0 ? 700_000 : 6000
  const bytes = Buffer.alloc(size)
  for (let at = 0, block = `${num % 5} ${size}`; at < size; at += 32) {
    const digest = createHash('sha256').update(block).digest()
    digest.copy(bytes, at)
    block = digest.toString('hex')
  }
  const lines = bytes.toString('base64').match(/.{1,76}/g) ?? []
  return Buffer.from(`${head}Content-Transfer-Encoding: base64\r\n\r\n${lines.join('\r\n')}\r\n--b--\r\n`)
}

async function run(dir: string, first: number): Promise<void> {
  const file = join(dir, 'teal.db')
  const writer = await Writer.open({ file, log: makeLog('silent'), metrics: makeMetrics('test') })
  const bodies = new Bodies(localPlace(dir), openReader(file))
  const submit = (operations: Operation[]) => writer.submit({ partition: 0, epoch: 0, operations, bytes: 100 })
  const say = (line: string) => writeSync(1, `${line}\n`)
  let next = first
  const worker = async (): Promise<never> => {
    for (;;) {
      const num = next++
      const received = await bodies.receive(messageOf(num))
      say(`~${num}`)
      await submit([operation(bodyAdd, received.bodyRow(num).row)])
      say(`+${num}`)
      await received.discard()
      if (num % 4 === 0) continue
      say(`~${num}`)
      await submit([operation(bodyRelease, { num })])
      say(`-${num}`)
    }
  }
  await Promise.all([worker(), worker(), worker(), worker()])
}

const [, program = '', dir, first] = process.argv
if (import.meta.url === pathToFileURL(program).href && dir !== undefined) await run(dir, Number(first))
