// A mail as JSON of the REST: everything a test looks at, with bytes left where they can be fetched.

import { limits } from '#lib/limits.ts'
import type { Entry } from '#testing/arrived/journal.ts'
import type { Mail } from '#testing.d'

/** Where the REST lies. */
export const base = '/dev/v1'

export function showMail({ facts }: Entry, mail: Mail): object {
  const { id, arrived, envelope, session, from = null, to, cc, replyTo, subject, messageId, date } = mail
  const { text, html, headers, spf, dkim, dmarc = null } = mail
  return {
    ...{ id, arrived, size: facts.size, envelope, session, from, to, cc, replyTo, subject, messageId, date },
    ...{ text, html, links: mail.links(), code: codeOf(mail), headers, spf, dkim, dmarc },
    attachments: mail.attachments.map(({ filename, contentType, size, cid = null, inline }, at) => ({
      ...{ filename, contentType, size, cid, inline },
      url: `${base}/mails/${id}/attachments/${at}`,
    })),
    raw: `${base}/mails/${id}/raw`,
  }
}

function codeOf(mail: Mail): string | null {
  try {
    return mail.code()
  } catch {
    return null
  }
}

/** A line of a list. */
export function showLine({ facts }: Entry, mail: Mail): object {
  const { id, arrived, envelope, from = null, subject } = mail
  const attachments = mail.attachments.filter(({ inline }) => !inline).length
  const snippet = snippetOf(mail)
  return { id, arrived, size: facts.size, envelope, from, subject, snippet, attachments }
}

/** How its text begins. */
export function snippetOf({ text }: Mail): string {
  return text
    .slice(0, limits.dev.snippetLength * 4)
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, limits.dev.snippetLength)
}
