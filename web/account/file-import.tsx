// Mail from files: looked at before they go, since any file would be stored as one message; then on their way, one after the other, with
// how far they are, until somebody stops it.
//
// What arrived by then stays, and brought again only what is missing is stored.

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { addressOf, Refusal, type Reply } from '../base/client.ts'
import { number, percent } from '../base/language.ts'
import { done, failed } from '../base/notice.tsx'
import { Card, Meter } from '../base/parts.tsx'
import { owner } from '../base/session.ts'
import { accountTexts } from './texts/texts.ts'

const callName = 'POST /users/:user/import/file'
type Brought = Reply<typeof callName>

/** Bytes that say what a file is, and that the service takes of one. */
const headBytes = 4096
const fileBytesMax = 32 * 1024 ** 3

export function FileImport({ onBrought }: { onBrought(): void }) {
  const texts = accountTexts.value.data
  const part = useSignal<number | null>(null)
  const control = useRef<AbortController | null>(null)
  useEffect(() => () => control.current?.abort(), [])
  const bring = async (input: HTMLInputElement) => {
    const files = [...(input.files ?? [])]
    if (files.length === 0 || part.value !== null) return
    const stop = new AbortController()
    control.current = stop
    part.value = 0
    try {
      say(await bringAll(files, told => (part.value = told), stop.signal))
    } catch (error) {
      if (!stop.signal.aborted) failed(error)
    } finally {
      part.value = null
      input.value = ''
      onBrought()
    }
  }
  return (
    <Card title={texts.file} text={texts.fileText}>
      <div class="field">
        <label for="import-file">{texts.choose}</label>
        <input
          id="import-file"
          type="file"
          multiple
          accept=".mbox,.eml,application/mbox,message/rfc822"
          disabled={part.value !== null}
          onChange={event => void bring(event.currentTarget)}
        />
      </div>
      {part.value !== null && (
        <div class="field">
          <p role="status">{part.value < 1 ? texts.importing : texts.takingIn}</p>
          <Meter used={part.value} allowed={1} label={percent(part.value)} isProgress />
          <div class="actions">
            <button type="button" onClick={() => control.current?.abort()}>
              {accountTexts.value.tasks.stop}
            </button>
          </div>
        </div>
      )}
    </Card>
  )
}

/** @throws Refusal */
async function bringAll(files: readonly File[], told: (part: number) => void, aborted: AbortSignal): Promise<Brought> {
  const texts = accountTexts.value.data
  const isOne = files.length === 1
  for (const file of files) {
    const wrong = await problemOf(file)
    // A folder without mail is an empty file.
    if (wrong === null || (wrong === 'empty' && !isOne)) continue
    throw new Refusal(0, 'NoMail', isOne ? texts.wrongFile[wrong] : `${file.name}: ${texts.wrongFile[wrong]}`)
  }
  const filled = files.filter(({ size }) => size > 0)
  const all = filled.reduce((sum, { size }) => sum + size, 0)
  const counts = { success: true as const, imported: 0, known: 0, skipped: 0, failed: 0 }
  let before = 0
  for (const file of filled) {
    const brought = await upload(file, part => told((before + part * file.size) / all), aborted)
    before += file.size
    for (const key of ['imported', 'known', 'skipped', 'failed'] as const) counts[key] += brought[key]
  }
  return counts
}

function say({ imported, known, skipped, failed: refused }: Brought): void {
  const texts = accountTexts.value.data
  const said = texts.imported(number(imported), number(known))
  if (skipped + refused === 0) done(said)
  else failed(new Refusal(0, 'NotAll', `${said} ${texts.leftOut(number(skipped), number(refused))}`))
}

/** An mbox begins with `From `, a message with a field (RFC 4155, RFC 5322 2.2). */
async function problemOf(file: File): Promise<'empty' | 'large' | 'unreadable' | 'other' | null> {
  if (file.size === 0) return 'empty'
  if (file.size > fileBytesMax) return 'large'
  const head = await file
    .slice(0, headBytes)
    .text()
    .catch(() => null)
  if (head === null) return 'unreadable'
  return /^(From |>?[!-9;-~]+[ \t]*:)/.test(head) ? null : 'other'
}

/** @throws Refusal */
function upload(file: File, told: (part: number) => void, aborted: AbortSignal): Promise<Brought> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const lost = () => reject(new Refusal(0, 'Unreachable', ''))
    request.open('POST', addressOf(callName, { params: { user: owner().id }, query: { folders: true } } as never))
    request.setRequestHeader('X-Teal-Page', '1')
    request.setRequestHeader('Content-Type', 'application/mbox')
    request.responseType = 'json'
    request.upload.addEventListener('progress', ({ loaded, total }) => told(total === 0 ? 0 : loaded / total))
    request.addEventListener('load', () => {
      const said = request.response as (Brought & { code?: string; error?: string }) | null
      if (request.status === 200 && said !== null) resolve(said)
      else reject(new Refusal(request.status, said?.code ?? 'InternalError', said?.error ?? ''))
    })
    request.addEventListener('error', lost)
    request.addEventListener('abort', lost)
    aborted.addEventListener('abort', () => request.abort())
    request.send(file)
  })
}
