// The HTML of a mail for a frame of the page: as it was sent, but that nothing in it runs and nothing is fetched.
//
// The policy of the answer forbids scripts, forms and everything from elsewhere; pictures of the mail itself stand in it as
// data. A policy has no say over what only opens connections or leads elsewhere (link, base, meta, and a link that a finger
// is put on), so those become names that mean nothing: a tag or an attribute has these very letters, or is another one.

import { limits } from '#lib/limits.ts'
import { escapeHtml } from '#mail/text/html.ts'
import type { Mail } from '#testing.d'
import type { Answer } from '../exchange.ts'

const policy = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  'font-src data:',
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
  'sandbox',
].join('; ')

const linkStyle = ':where(a[x-href]){color:#0000ee;text-decoration:underline}'

export function safeHtml(mail: Mail): Answer {
  const shown = mail.html === '' ? `<pre>${escapeHtml(mail.text)}</pre>` : withPictures(inert(mail.html), mail)
  return {
    type: 'text/html; charset=utf-8',
    headers: { 'content-security-policy': policy },
    body: `<!doctype html><meta charset="utf-8"><style>${linkStyle}</style>${shown}`,
  }
}

/** Text that speaks of href= is changed, too; the view of the source has it as it was. */
function inert(html: string): string {
  return html
    .replace(/(?<![\w-])href(?=\s*=)/gi, 'x-href')
    .replace(/<(\/?)(link|base|meta|iframe|frame|frameset|object|embed|portal)(?=[\s/>])/gi, '<$1x-$2')
}

/** Puts pictures that the mail brings along where it refers to them (RFC 2392). */
function withPictures(html: string, mail: Mail): string {
  let left: number = limits.dev.pictureBytesMax
  return html.replace(/\bcid:([^\s"'<>)]{1,300})/gi, (whole, name: string) => {
    const wanted = decoded(name)
    const found = mail.attachments.find(({ cid }) => cid === wanted)
    if (found === undefined || !/^image\/[a-z0-9.+-]+$/i.test(found.contentType) || found.size > left) return whole
    left -= found.size
    return `data:${found.contentType};base64,${found.content.toString('base64')}`
  })
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
