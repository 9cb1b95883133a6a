// What others may make of a mail: programs that do not show some of its HTML, and what filters hold against it.
//
// Names of programs and of what HTML has are the same in every language; reasons come from the service, in English.

import { number } from '../base/language.ts'
import { Badge, Loaded, Meter } from '../base/parts.tsx'
import { useResource } from '../base/resource.ts'
import { ask, type Compatibility, type Feature, type Mail, type SpamScore } from './rest.ts'
import { devTexts } from './texts/texts.ts'

interface Shown {
  readonly mail: Mail
}

export function Programs({ mail }: Shown) {
  const texts = devTexts.value
  const found = useResource(() => ask<Compatibility>('GET', `/mails/${mail.id}/programs`), `programs ${mail.id}`)
  if (mail.html === '') return <p class="hint">{texts.noHtml}</p>
  return (
    <Loaded of={found}>
      {({ programs, features }) =>
        features.length === 0 ? (
          <p class="hint">{texts.allShow}</p>
        ) : (
          <>
            <p class="hint">{texts.programsText}</p>
            <ul class="badges" aria-label={texts.programs}>
              {programs
                .map(program => ({ program, missing: features.filter(one => one.support[program] === 'not').length }))
                .toSorted((a, b) => b.missing - a.missing)
                .map(({ program, missing }) => (
                  <li key={program}>
                    <Badge kind={missing === 0 ? 'good' : 'warn'}>
                      <bdi>{program}</bdi>
                      {': '}
                      {missing === 0 ? texts.all : texts.missing(missing)}
                    </Badge>
                  </li>
                ))}
            </ul>
            <table class="plain-table" aria-label={texts.views.programs}>
              <tbody>
                {features.map(one => (
                  <FeatureRow key={one.slug} of={one} />
                ))}
              </tbody>
            </table>
          </>
        )
      }
    </Loaded>
  )
}

function FeatureRow({ of: { title, url, count, support } }: { readonly of: Feature }) {
  const texts = devTexts.value
  const named = (how: string) =>
    Object.entries(support)
      .filter(([, one]) => one === how)
      .map(([program]) => program)
      .join(' · ')
  const [not, partly] = [named('not'), named('partly')]
  return (
    <tr>
      <th scope="row">
        <a href={url} target="_blank" rel="noopener noreferrer">
          <bdi class="code" dir="ltr">
            {title}
          </bdi>
        </a>
        {count > 1 && <span class="hint"> × {number(count)}</span>}
      </th>
      <td>
        {not !== '' && (
          <p>
            <span class="no">{texts.notShown}</span> <bdi>{not}</bdi>
          </p>
        )}
        {partly !== '' && (
          <p class="hint">
            {texts.partlyShown} <bdi>{partly}</bdi>
          </p>
        )}
      </td>
    </tr>
  )
}

export function Spam({ mail }: Shown) {
  const texts = devTexts.value
  const found = useResource(() => ask<SpamScore>('GET', `/mails/${mail.id}/spam`), `spam ${mail.id}`)
  return (
    <Loaded of={found}>
      {({ points, junkFrom, parts }) => (
        <div class="spam">
          <p>
            <strong>{texts.points(number(points))}</strong> <span class="hint">{texts.junkFrom(number(junkFrom))}</span>
          </p>
          <Meter used={points} allowed={junkFrom} label={texts.views.spam} />
          {parts.length === 0 ? (
            <p class="hint">{texts.noPoints}</p>
          ) : (
            <table class="plain-table" aria-label={texts.views.spam}>
              <tbody>
                {parts.map(({ name, points: more, info }) => (
                  <tr key={name}>
                    <th scope="row">{texts.signs[name] ?? name}</th>
                    <td class="points">
                      <bdi dir="ltr">+{number(more)}</bdi>
                    </td>
                    <td>
                      <bdi lang="en">{info}</bdi>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </div>
      )}
    </Loaded>
  )
}

/** From so many points on a mail is marked in the list, and from so many as likely Junk. */
const marked = 1
const junk = 5

/** Beside a mail in the list. */
export function SpamBadge({ points }: { readonly points: number }) {
  if (points < marked) return null
  return <Badge kind={points >= junk ? 'bad' : 'warn'}>{devTexts.value.spamOf(number(points))}</Badge>
}
