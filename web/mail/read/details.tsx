// Why a message is here: who sent it as far as that was found out, how it came, what spoke for spam, which filters decided.
//
// Nothing here is worked out in the browser: the service says what it knew when the message came.

import { moment, number } from '../../base/language.ts'
import { shownName } from '../../base/names.ts'
import { Badge, Fact, Facts } from '../../base/parts.tsx'
import { useCall } from '../../base/resource.ts'
import { type Message, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'

export function Details({ message }: { readonly message: Message }) {
  const texts = mailTexts.value
  const { envelope, transport, spam, verificationResults } = message
  const query = { mailbox: message.mailbox, message: message.id }
  const trace = useCall('GET /users/:user/filters/trace', { params: { user: user() }, query })
  const [decided] = trace.data?.results ?? []
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
            <Verdicts of={verificationResults} />
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
        {decided?.stored != null && (
          <Fact name={texts.filedInto}>
            <bdi>{shownName(decided.stored)}</bdi>
          </Fact>
        )}
        {decided?.verdict !== undefined && (
          <Fact name={texts.verdict}>{texts.verdicts(decided.verdict.spam, shownName(decided.verdict.by))}</Fact>
        )}
        {decided?.forward !== undefined && (
          <Fact name={texts.wentOn}>
            <bdi dir="ltr">{decided.forward.targets.map(shownName).join(', ')}</bdi>{' '}
            {shownName(decided.forward.reason ?? '')}
          </Fact>
        )}
        {decided?.autoreply !== undefined && (
          <Fact name={texts.answeredBy}>{shownName(decided.autoreply.reason ?? '') || texts.wasSent}</Fact>
        )}
        <Fact name="Message-ID">
          <bdi dir="ltr" class="code">
            {shownName(message.messageId)}
          </bdi>
        </Fact>
      </Facts>
    </div>
  )
}

/** What was proven, by whom; a dash where nothing was. */
function Verdicts({ of }: { readonly of: Readonly<Record<string, unknown>> }) {
  const shown = Object.entries(of).filter(([, value]) => typeof value === 'string' || value === false)
  return (
    <span class="what" dir="ltr">
      {shown.map(([name, value]) => (
        <Badge key={name} kind={value === false ? 'plain' : 'good'}>
          {shownName(name).toUpperCase()}: {value === false ? '–' : shownName(String(value))}
        </Badge>
      ))}
    </span>
  )
}
