// `node bench/mime.ts`: what taking a message apart costs, in microseconds a message, beside the bound of the same run.
//
// Bounds: a copy of the bytes (memory speed) and one search through them. The figures of bench/NOTES.md, MIME, are from here.

import { Bench } from 'tinybench'
import { decodeBody } from '#mail/mime/decode.ts'
import { type MimePart, MimeScanner, scanMime } from '#mail/mime/mime.ts'
import { outline } from '#mail/mime/outline.ts'
import { textFromHtml } from '#mail/text/html.ts'
import { readText } from '#mail/text/text.ts'

const head = [
  'Return-Path: <anna@example.com>',
  'Received: from mx.example.com by mail.example.org with ESMTPS id 1234; Fri, 2 Jan 2026 03:04:05 +0000',
  'From: =?utf-8?q?Anna_=C3=95un?= <anna@example.com>',
  'To: Bob <bob@example.org>, "Carol, C" <carol@example.org>',
  'Subject: =?utf-8?q?Minutes_of_the_meeting?=',
  'Date: Fri, 2 Jan 2026 03:04:05 +0000',
  'Message-ID: <4711@example.com>',
  'MIME-Version: 1.0',
].join('\r\n')
const line = 'Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod te\r\n'
const boundary = '----=_Part_1234_5678'

function multipart(type: string, parts: readonly string[]): Buffer {
  const body = parts.map(part => `--${boundary}\r\n${part}\r\n`).join('')
  return Buffer.from(`${head}\r\nContent-Type: ${type}; boundary="${boundary}"\r\n\r\n${body}--${boundary}--\r\n`)
}

/** So many bytes as base64 in lines. */
function base64(bytes: number): string {
  const text = Buffer.alloc(bytes, 'some file that repeats itself').toString('base64')
  return text.replace(/.{76}(?=.)/g, '$&\r\n')
}

const text = `Content-Type: text/plain; charset=utf-8\r\n\r\n${line.repeat(8)}`
const html = `Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n${`<p>${line}</p>`.repeat(7)}`

function withAttachment(bytes: number): Buffer {
  const part = `Content-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename="a.pdf"\r\n\r\n${base64(bytes)}`
  return multipart('multipart/mixed', [text, part])
}

const samples: Readonly<Record<string, Buffer>> = {
  '2 KB plain': Buffer.from(`${head}\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n${line.repeat(20)}`),
  '2 KB alternative': multipart('multipart/alternative', [text, html]),
  '50 KB with a file': withAttachment(36_000),
  '1 MB with a file': withAttachment(760_000),
}

function inChunks(message: Buffer): MimePart {
  const scanner = new MimeScanner()
  for (let at = 0; at < message.length; at += 16_384) scanner.write(message.subarray(at, at + 16_384))
  return scanner.end()
}

const bench = new Bench({ time: 300, warmupTime: 100 })
for (const [name, message] of Object.entries(samples)) {
  const target = Buffer.alloc(message.length)
  const tree = scanMime(message)
  const made = outline(tree)
  bench.add(`${name}: copied (bound)`, () => void message.copy(target))
  bench.add(`${name}: searched once (bound)`, () => void message.indexOf('\n--nowhere'))
  bench.add(`${name}: scanned`, () => void scanMime(message))
  bench.add(`${name}: scanned in chunks of 16 KB`, () => void inChunks(message))
  bench.add(`${name}: outlined`, () => void outline(tree))
  bench.add(`${name}: text read`, () => readText(made.texts, (start, end) => message.subarray(start, end)))
}

const encoded = Buffer.from(base64(760_000))
const page = `<p>${line}<a href="https://example.com/">link</a> &amp; &auml;</p>\n`.repeat(2000)
bench.add('1 MB base64: decoded by the platform (bound)', () => void Buffer.from(encoded.toString('latin1'), 'base64'))
bench.add('1 MB base64: decoded', () => void decodeBody(encoded, 'base64'))
bench.add(`${Math.round(page.length / 1024)} KB HTML: to text`, () => void textFromHtml(page))

await bench.run()
for (const { name, result } of bench.tasks) {
  if (!('latency' in result)) continue
  const { p50, p99 } = result.latency
  process.stdout.write(
    `${name.padEnd(48)} ${(p50 * 1000).toFixed(1).padStart(9)} µs   p99 ${(p99 * 1000).toFixed(1).padStart(9)} µs\n`,
  )
}
