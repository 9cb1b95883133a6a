// What is in a mail, in one of its views. What a mail says reaches the page as text only; its HTML is shown in a frame that may do nothing.
//
// Source, previews and checks are asked for when they are looked at; links are tried when somebody wants it.

import { useSignal } from '@preact/signals'
import { bytes, number } from '../base/language.ts'
import { failed } from '../base/notice.tsx'
import { Loaded } from '../base/parts.tsx'
import { useResource } from '../base/resource.ts'
import type { View } from './inbox.ts'
import { Programs, Spam } from './judged.tsx'
import { type Attachment, ask, base, type Check, type LinkCheck, type Mail } from './rest.ts'
import { devTexts } from './texts/texts.ts'

interface Shown {
  readonly mail: Mail
}

const panels: Readonly<Record<View, (props: Shown) => unknown>> = {
  html: Html,
  text: ({ mail }) =>
    mail.text === '' ? <p class="hint">{devTexts.value.noText}</p> : <pre dir="auto">{mail.text}</pre>,
  source: Source,
  headers: Headers,
  links: Links,
  attachments: Attachments,
  checks: Checks,
  programs: Programs,
  spam: Spam,
}

export function Panel({ view, mail }: Shown & { readonly view: View }) {
  const Chosen = panels[view] as (props: Shown) => preact.VNode
  return <Chosen mail={mail} />
}

/** Kept while the page is open, so that mails are looked at one after the other as a telephone shows them. */
const widths = { full: '', tablet: '48rem', phone: '23.4375rem' } as const
type Width = keyof typeof widths
let lastWidth: Width = 'full'

function Html({ mail }: Shown) {
  const texts = devTexts.value
  const width = useSignal<Width>(lastWidth)
  if (mail.html === '') return <p class="hint">{texts.noHtml}</p>
  return (
    <>
      <fieldset class="widths">
        <legend class="unseen">{texts.width}</legend>
        {(Object.keys(widths) as Width[]).map(one => (
          <button
            key={one}
            type="button"
            class="tag"
            aria-pressed={width.value === one}
            onClick={() => {
              lastWidth = one
              width.value = one
            }}
          >
            {texts.widths[one]}
          </button>
        ))}
      </fieldset>
      <div class="sheet">
        <iframe
          class={width.value}
          sandbox=""
          src={`${base}/mails/${mail.id}/html`}
          title={texts.htmlOf}
          referrerpolicy="no-referrer"
        />
      </div>
    </>
  )
}

function Source({ mail }: Shown) {
  const source = useResource(async signal => (await fetch(mail.raw, { signal })).text(), mail.raw)
  return <Loaded of={source}>{text => <pre dir="ltr">{text}</pre>}</Loaded>
}

function Headers({ mail }: Shown) {
  return (
    <table class="plain-table" dir="ltr" aria-label={devTexts.value.views.headers}>
      <tbody>
        {Object.entries(mail.headers).flatMap(([name, values]) =>
          values.map((value, at) => (
            <tr key={`${name} ${at}`}>
              <th scope="row">{name}</th>
              <td>{value}</td>
            </tr>
          )),
        )}
      </tbody>
    </table>
  )
}

function Links({ mail }: Shown) {
  const texts = devTexts.value
  const found = useSignal<readonly LinkCheck[] | null>(null)
  const isAsking = useSignal(false)
  if (mail.links.length === 0) return <p class="hint">{texts.noLinks}</p>
  const tryThem = async () => {
    isAsking.value = true
    try {
      found.value = await ask<LinkCheck[]>('POST', `/mails/${mail.id}/links`)
    } catch (error) {
      failed(error)
    } finally {
      isAsking.value = false
    }
  }
  const wrong = found.value?.filter(({ ok }) => !ok).length ?? 0
  return (
    <>
      <div class="actions">
        <button type="button" onClick={tryThem}>
          {texts.tryLinks}
        </button>
        <span role="status" class="hint">
          {isAsking.value ? texts.trying : found.value === null ? '' : texts.linksWrong(wrong, found.value.length)}
        </span>
      </div>
      <ul class="links" dir="ltr">
        {mail.links.map(link => (
          <li key={link}>
            {/^https?:/i.test(link) ? (
              <a href={link} target="_blank" rel="noopener noreferrer">
                {link}
              </a>
            ) : (
              link
            )}{' '}
            <Verdict of={found.value?.find(({ url }) => url === link)} />
          </li>
        ))}
      </ul>
    </>
  )
}

function Verdict({ of }: { readonly of: LinkCheck | undefined }) {
  if (of === undefined) return null
  const said = [of.status === 0 ? devTexts.value.noAnswer : of.status, of.info].filter(Boolean).join(', ')
  return <span class={of.ok ? 'yes' : 'no'}>{said}</span>
}

function Attachments({ mail }: Shown) {
  const texts = devTexts.value
  if (mail.attachments.length === 0) return <p class="hint">{texts.noAttachments}</p>
  return (
    <ul class="attachments">
      {mail.attachments.map(one => (
        <OneAttachment key={one.url} one={one} />
      ))}
    </ul>
  )
}

function OneAttachment({ one }: { readonly one: Attachment }) {
  const texts = devTexts.value
  const isOpen = useSignal(false)
  const isPicture = /^image\/(png|jpeg|gif|webp|avif)$/i.test(one.contentType)
  const isText = /^(text\/|application\/(json|xml)$|message\/)/i.test(one.contentType)
  const name = one.filename || texts.noName
  return (
    <li>
      <div class="attachment">
        <a href={one.url} download={one.filename || 'attachment'}>
          <bdi>{name}</bdi>
        </a>
        <span class="hint">
          <bdi dir="ltr">{one.contentType}</bdi>, {bytes(one.size)}
          {one.inline && `, ${texts.inHtml}`}
        </span>
        {isText && (
          <button type="button" class="tag" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
            {texts.preview}
          </button>
        )}
      </div>
      {isPicture && <img src={`${one.url}/preview`} alt={name} loading="lazy" />}
      {isOpen.value && <TextPreview url={`${one.url}/preview`} />}
    </li>
  )
}

function TextPreview({ url }: { readonly url: string }) {
  const text = useResource(async signal => (await fetch(url, { signal })).text(), url)
  return <Loaded of={text}>{shown => <pre dir="auto">{shown}</pre>}</Loaded>
}

function Checks({ mail }: Shown) {
  const texts = devTexts.value
  const checks = useResource(() => ask<Check[]>('GET', `/mails/${mail.id}/checks`), mail.id)
  const { session } = mail
  const tls = session?.tls ?? null
  const facts: readonly (readonly [string, string])[] = [
    [texts.protocol, session?.protocol ?? texts.madeHere],
    ['EHLO', session?.helo ?? texts.none],
    ['TLS', tls === null ? texts.none : `${tls.protocol}, ${tls.cipher}`],
    [texts.login, session?.login ?? texts.none],
    [texts.size, texts.bytes(number(mail.size))],
  ]
  return (
    <Loaded of={checks}>
      {found => (
        <table class="plain-table" aria-label={texts.views.checks}>
          <tbody>
            {found.map(({ name, ok, info }) => (
              <tr key={name}>
                <th scope="row">{texts.checkNames[name] ?? name}</th>
                <td>
                  <span class={ok === null ? 'hint' : ok ? 'yes' : 'no'}>
                    {ok === null ? '' : `${ok ? texts.good : texts.mind}: `}
                    <bdi lang="en">{info}</bdi>
                  </span>
                </td>
              </tr>
            ))}
            {(
              [
                ['SPF', mail.spf],
                ['DKIM', mail.dkim],
                ['DMARC', mail.dmarc],
              ] as const
            ).map(([name, verdict]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>
                  {verdict === false ? (
                    <span class="no">{texts.notProven}</span>
                  ) : verdict === null ? (
                    <span class="hint">{texts.noPolicy}</span>
                  ) : (
                    <bdi class="yes">{verdict}</bdi>
                  )}
                </td>
              </tr>
            ))}
            {facts.map(([name, value]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>
                  <bdi>{value}</bdi>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Loaded>
  )
}
