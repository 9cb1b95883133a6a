// Why a message is here: who sent it as far as that was found out, how it came, what spoke for spam, which filters decided; and
// its source as it is.
//
// Nothing here is worked out in the browser: the service says what it knew when the message came.

import { addressOf } from '../../base/client.ts'
import { moment, number } from '../../base/language.ts'
import { Fact, Facts } from '../../base/parts.tsx'
import { useCall } from '../../base/resource.ts'
import { shownName } from '../names.ts'
import { type Message, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'

export function Details({ message }: { readonly message: Message }) {
  const texts = mailTexts.value
  const { envelope, transport, spam, verificationResults } = message
  const params = { user: user(), mailbox: message.mailbox, message: message.id }
  const source = addressOf('GET /users/:user/mailboxes/:mailbox/messages/:message/message.eml', { params })
  const query = { mailbox: message.mailbox, message: message.id }
  const trace = useCall('GET /users/:user/filters/trace', { params: { user: user() }, query })
  const filters = (trace.data?.results ?? []).flatMap(one => one.filters.map(filter => filter.name ?? filter.id))
  return (
    <div class="mail-details">
      <Facts>
        {envelope.from !== '' && (
          <Fact name={texts.envelope}>
            <bdi dir="ltr">{shownName(envelope.from)}</bdi>
          </Fact>
        )}
        {transport !== undefined && (
          <Fact name={texts.cameFrom}>
            <bdi dir="ltr">
              {[transport.transhost, transport.origin, transport.transtype]
                .filter(Boolean)
                .map(one => shownName(one ?? ''))
                .join(' · ')}
            </bdi>{' '}
            {moment(transport.time)}
          </Fact>
        )}
        {verificationResults !== undefined && (
          <Fact name={texts.authentication}>
            <bdi dir="ltr">{verdicts(verificationResults)}</bdi>
          </Fact>
        )}
        {spam !== undefined && (
          <Fact name={texts.spamScore}>
            {number(Math.round(spam.score))}
            <ul class="mail-parts">
              {spam.parts.map(part => (
                <li key={part.name}>
                  <bdi>{shownName(part.name)}</bdi> {number(part.score)}{' '}
                  <bdi class="hint">{shownName(part.info ?? '')}</bdi>
                </li>
              ))}
            </ul>
          </Fact>
        )}
        {filters.length > 0 && (
          <Fact name={texts.decidedBy}>
            <bdi>{filters.map(shownName).join(', ')}</bdi>
          </Fact>
        )}
        <Fact name="Message-ID">
          <bdi dir="ltr" class="code">
            {shownName(message.messageId)}
          </bdi>
        </Fact>
      </Facts>
      <a href={source} target="_blank" rel="noreferrer" download={`${message.id}.eml`}>
        {texts.source}
      </a>
    </div>
  )
}

function verdicts(results: Readonly<Record<string, unknown>>): string {
  return Object.entries(results)
    .filter(([, value]) => typeof value === 'string' || value === false)
    .map(([name, value]) => `${shownName(name)}: ${value === false ? '–' : shownName(String(value))}`)
    .join(' · ')
}
