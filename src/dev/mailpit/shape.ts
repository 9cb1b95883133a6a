// Mails in the shapes of Mailpit's documented API, so that tests written for it find what they look for.
//
// Parts that a mail lacks are empty, as documented.

import { createHash } from 'node:crypto'
import type { Mail, MailAddress, MailAttachment } from '#testing.d'
import { bareId, hiddenOf } from '../shelf/card.ts'
import type { Shelved } from '../shelf/shelf.ts'
import { snippetOf } from '../shown.ts'

interface Address {
  readonly Name: string
  readonly Address: string
}

function addressOf({ name, address }: MailAddress): Address {
  return { Name: name, Address: address }
}

function addresses(mail: Mail) {
  return {
    From: addressOf(mail.from ?? { name: '', address: mail.envelope.from }),
    To: mail.to.map(addressOf),
    Cc: mail.cc.map(addressOf),
    Bcc: hiddenOf(mail).map(address => ({ Name: '', Address: address })),
    ReplyTo: mail.replyTo.map(addressOf),
  }
}

/** A line of a list. */
export function summary({ read, entry, tags }: Shelved, mail: Mail): object {
  return {
    ...{ ID: mail.id, MessageID: bareId(mail), Read: read },
    ...addresses(mail),
    ...{ Subject: mail.subject, Created: new Date(mail.arrived).toISOString(), Tags: tags },
    ...{ Username: mail.session?.login ?? '', Size: entry.facts.size },
    Attachments: mail.attachments.filter(({ inline }) => !inline).length,
    Snippet: snippetOf(mail),
  }
}

/** One whole mail. */
export function message({ entry, tags }: Shelved, mail: Mail): object {
  const parts = mail.attachments.map((attachment, at) => ({ attachment, PartID: String(at + 1) }))
  const shown = (inline: boolean) =>
    parts
      .filter(({ attachment }) => attachment.inline === inline)
      .map(({ attachment, PartID }) => part(attachment, PartID))
  const [unsubscribe = ''] = mail.headers['list-unsubscribe'] ?? []
  const [post = ''] = mail.headers['list-unsubscribe-post'] ?? []
  return {
    ...{ ID: mail.id, MessageID: bareId(mail) },
    ...addresses(mail),
    ...{ ReturnPath: mail.envelope.from, Subject: mail.subject },
    Date: new Date(mail.date ?? mail.arrived).toISOString(),
    ListUnsubscribe: {
      Header: unsubscribe,
      Links: [...unsubscribe.matchAll(/<([^<>]+)>/g)].map(([, link]) => link),
      Errors: '',
      HeaderPost: post,
    },
    ...{ Tags: tags, Username: mail.session?.login ?? '', Size: entry.facts.size },
    Text: mail.headers['content-type']?.some(type => /^text\/html/i.test(type)) === true ? '' : mail.text,
    ...{ HTML: mail.html, Inline: shown(true), Attachments: shown(false) },
  }
}

function part({ filename, contentType, cid = '', size, content }: MailAttachment, PartID: string): object {
  const hash = (name: string) => createHash(name).update(content).digest('hex')
  return {
    ...{ PartID, FileName: filename, ContentType: contentType, ContentID: cid, Size: size },
    Checksums: { MD5: hash('md5'), SHA1: hash('sha1'), SHA256: hash('sha256') },
  }
}

/** Fields by their names as they were written, in order. */
export function headers(raw: Buffer): Record<string, string[]> {
  const end = raw.indexOf('\r\n\r\n')
  const text = raw.subarray(0, end < 0 ? raw.length : end).toString()
  const fields: Record<string, string[]> = Object.create(null)
  for (const [, name = '', value = ''] of text.replace(/\r\n(?=[ \t])/g, '').matchAll(/^([!-9;-~]+):[ \t]*(.*)$/gm)) {
    const key = name.toLowerCase().replace(/(^|-)[a-z]/g, letter => letter.toUpperCase())
    fields[key] ??= []
    fields[key].push(value.trim())
  }
  return fields
}
