// A message as it came: its header fields, and its source, shown as text and to be kept.
//
// Only the beginning of a large one is fetched. Signs that cannot be seen or turn text round are shown by their numbers, so that
// what one reads here is what there is.

import { addressOf } from '../../base/client.ts'
import { bytes } from '../../base/language.ts'
import { shownName, shownSigns } from '../../base/names.ts'
import { Loaded } from '../../base/parts.tsx'
import { useResource } from '../../base/resource.ts'
import { type Message, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'

const shownBytesMax = 500_000
const fieldsMax = 1000

function sourceOf({ mailbox, id: message }: Message): string {
  const params = { user: user(), mailbox, message }
  return addressOf('GET /users/:user/mailboxes/:mailbox/messages/:message/message.eml', { params })
}

function useSource(message: Message) {
  const url = sourceOf(message)
  return useResource(signal => beginning(url, signal), url)
}

/** The beginning of what is there; the rest is not fetched. */
async function beginning(url: string, signal: AbortSignal): Promise<string> {
  const ends = new AbortController()
  const stop = () => ends.abort()
  signal.addEventListener('abort', stop)
  const answer = await fetch(url, { headers: { 'X-Teal-Page': '1' }, signal: ends.signal })
  if (!answer.ok || answer.body === null) throw new Error(answer.statusText)
  const decoder = new TextDecoder()
  const reader = answer.body.getReader()
  let text = ''
  for (let taken = 0; taken < shownBytesMax; ) {
    const { value, done } = await reader.read()
    if (done) break
    taken += value.length
    text += decoder.decode(value, { stream: true })
  }
  signal.removeEventListener('abort', stop)
  await reader.cancel()
  return text
}

/** Fields with their lines put together again (RFC 5322 2.2.3). */
function fieldsOf(source: string): { name: string; value: string }[] {
  const end = /\r?\n\r?\n/.exec(source)?.index ?? source.length
  const lines = source
    .slice(0, end)
    .replace(/\r?\n(?=[ \t])/g, '')
    .split(/\r?\n/)
  return lines.flatMap(line => {
    const colon = line.indexOf(':')
    return colon < 1 ? [] : [{ name: line.slice(0, colon).trim(), value: line.slice(colon + 1).trim() }]
  })
}

export function HeaderFields({ message }: { readonly message: Message }) {
  const texts = mailTexts.value
  return (
    <section class="mail-details" aria-label={texts.headers}>
      <Loaded of={useSource(message)}>
        {source => (
          <dl class="mail-header-fields" dir="ltr">
            {fieldsOf(source)
              .slice(0, fieldsMax)
              .map(({ name, value }, at) => (
                <div key={at}>
                  <dt>{shownSigns(name)}</dt>
                  <dd>{shownSigns(value)}</dd>
                </div>
              ))}
          </dl>
        )}
      </Loaded>
    </section>
  )
}

export function Source({ message }: { readonly message: Message }) {
  const texts = mailTexts.value
  const name = `${shownName(message.subject).slice(0, 80) || message.id}.eml`
  return (
    <section class="mail-details" aria-label={texts.source}>
      <p>
        <a href={sourceOf(message)} download={name}>
          {texts.download(bytes(message.size))}
        </a>
      </p>
      <Loaded of={useSource(message)}>
        {source => (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keys
          <pre class="mail-source" dir="ltr" tabIndex={0}>
            {shownSigns(source)}
            {source.length < message.size && `\n…`}
          </pre>
        )}
      </Loaded>
    </section>
  )
}
