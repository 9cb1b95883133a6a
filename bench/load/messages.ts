// Messages to load with: some of an exact size that can be made unique in place, and a realistic mixture.
//
// Everything comes from a seed, so two runs send the same bytes. The mixture has, out of 100: 50 notes (half of them
// replies that quote), 25 with a plain and an HTML form, 15 newsletters that share a template, 10 with attachments, of
// which a third were sent before. What an attachment holds cannot be compressed in seven of ten.

export interface Stamped {
  readonly bytes: Buffer
  /** Where the part of the Message-ID stands that `stamp` overwrites. */
  readonly at: number
}

/** `count` messages of exactly `size` bytes, CRLF, needing no dot stuffing. */
export function fixedMessages(size: number, count: number, seed: number): Stamped[] {
  const source = new Source(seed)
  return Array.from({ length: count }, (_, index) => fixedMessage(source, index, size))
}

let serial = 0

/** Makes the next use of a message unique, in place. */
export function stamp(message: Stamped, run: string): Buffer {
  serial += 1
  message.bytes.write(run.slice(-6).padStart(6, '0') + serial.toString(36).padStart(6, '0'), message.at, 'latin1')
  return message.bytes
}

/** The mixture, one message after another. */
export function* mixedMessages(count: number, seed: number): Generator<Buffer> {
  const source = new Source(seed)
  const world = makeWorld(source)
  for (let index = 0; index < count; index++) yield Buffer.from(mixedMessage(source, world, index), 'latin1')
}

/** The body as it goes over SMTP and LMTP: leading dots doubled, ended by a line with a dot. */
export function onTheWire(message: Buffer): Buffer {
  const end = Buffer.from('.\r\n')
  if (message.indexOf('\r\n.') < 0 && message[0] !== 0x2e) return Buffer.concat([message, end])
  return Buffer.concat([Buffer.from(message.toString('latin1').replace(/(^|\r\n)\./g, '$1..'), 'latin1'), end])
}

const syllables =
  'ba be bo da de di do fa fe ga go ha he ka ke ko la le li lo ma me mi mo na ne ni no pa pe ra re ri ro sa'
const endings = 'se si so ta te ti to va ve vi wa we za ing er on al ent tion'
const common =
  'the of and to in is you that it for was on are as with they at be this have from or one had by word but not what all ' +
  'were we when your can said there use an each which she do how their if will up other about out many then them these ' +
  'so some her would make like him into time has look two more write go see number no way could people my than first'

/** Text from a seed: words as frequent as in a language, numbers, bytes. */
class Source {
  #state: number
  readonly #words: string[]

  constructor(seed: number) {
    this.#state = seed >>> 0
    const parts = `${syllables} ${endings}`.split(' ')
    this.#words = common.split(' ')
    while (this.#words.length < 4000) {
      let word = ''
      for (let left = 2 + this.below(3); left > 0; left--) word += parts[this.below(parts.length)]
      this.#words.push(word)
    }
  }

  /** In [0, 1). */
  chance(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below(limit: number): number {
    return Math.floor(this.chance() * limit)
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item
  }

  /** A number around `median` with the long tail that sizes of mail have. */
  spread(median: number, sigma: number): number {
    const normal = Math.sqrt(-2 * Math.log(1 - this.chance())) * Math.cos(2 * Math.PI * this.chance())
    return Math.round(median * Math.exp(sigma * normal))
  }

  word(): string {
    const rank = Math.floor(Math.exp(this.chance() * Math.log(this.#words.length))) - 1
    return this.#words[Math.min(this.#words.length - 1, rank)] as string
  }

  words(count: number): string {
    return Array.from({ length: count }, () => this.word()).join(' ')
  }

  title(count: number): string {
    const words = this.words(count)
    return words.charAt(0).toUpperCase() + words.slice(1)
  }

  paragraph(): string {
    const sentences = Array.from({ length: 2 + this.below(5) }, () => `${this.title(5 + this.below(14))}.`)
    return wrap(sentences.join(' '))
  }

  text(bytes: number): string {
    let text = ''
    while (text.length < bytes) text += `${this.paragraph()}\r\n\r\n`
    return text
  }

  letters(count: number, alphabet: string): string {
    let text = ''
    for (let index = 0; index < count; index++) text += alphabet[this.below(alphabet.length)]
    return text
  }

  hex(count: number): string {
    return this.letters(count, '0123456789abcdef')
  }
}

const base64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

function wrap(text: string): string {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line.length + word.length > 73) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line].join('\r\n')
}

/** A date that rises with the number of the message. */
function dateOf(index: number): string {
  return new Date(Date.UTC(2024, 0, 1) + index * 10_801_000).toUTCString().replace('GMT', '+0000')
}

function fixedMessage(source: Source, index: number, size: number): Stamped {
  const sender = `sender${index % 100}@remote.test`
  const head =
    `Received: from mx${source.below(9)}.remote.test (mx.remote.test [192.0.2.${1 + source.below(250)}])\r\n` +
    `\tby mail.bench.test with ESMTPS id ${source.hex(12)};\r\n\t${dateOf(index)}\r\n` +
    `Date: ${dateOf(index)}\r\nFrom: "${source.title(2)}" <${sender}>\r\nTo: <user@bench.test>\r\n` +
    `Subject: ${source.words(6)}\r\nMessage-ID: <000000000000.${source.hex(8)}@remote.test>\r\nMIME-Version: 1.0\r\n`
  const text = size < 4500 ? head + plainBody(source, size - head.length) : head + twoFormed(source, size - head.length)
  const bytes = Buffer.from(text, 'latin1')
  if (bytes.length !== size) throw new Error(`a message has ${bytes.length} bytes instead of ${size}`)
  return { bytes, at: bytes.indexOf('Message-ID: <') + 'Message-ID: <'.length }
}

function plainBody(source: Source, size: number): string {
  const head = 'Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 7bit\r\n\r\n'
  return head + exactText(source, size - head.length)
}

function twoFormed(source: Source, size: number): string {
  const boundary = `=_b${source.hex(20)}`
  const type = (kind: string) =>
    `--${boundary}\r\nContent-Type: text/${kind}; charset=utf-8\r\nContent-Transfer-Encoding: 7bit\r\n\r\n`
  const head = `Content-Type: multipart/alternative; boundary="${boundary}"\r\n\r\n${type('plain')}`
  const between = `\r\n${type('html')}<html><body><p>`
  const tail = `</p></body></html>\r\n--${boundary}--\r\n`
  const room = size - head.length - between.length - tail.length
  const plain = exactText(source, Math.floor(room * 0.4))
  return head + plain + between + exactText(source, room - plain.length) + tail
}

function exactText(source: Source, size: number): string {
  return `${source
    .text(size)
    .slice(0, size - 2)
    .replace(/[\r\n]+$/, blank => 'x'.repeat(blank.length))}\r\n`
}

interface Sender {
  readonly name: string
  readonly address: string
}

interface List extends Sender {
  readonly style: string
  readonly row: string
  readonly foot: string
}

interface Attachment {
  readonly type: string
  readonly name: string
  readonly body: string
}

interface World {
  readonly people: readonly Sender[]
  readonly lists: readonly List[]
  /** Attachments that are sent again and again. */
  readonly shared: readonly Attachment[]
  /** Messages that may be answered. */
  readonly threads: { id: string; subject: string; references: readonly string[] }[]
}

function makeWorld(source: Source): World {
  const person = (index: number) => ({
    name: source.title(2),
    address: `${source.word()}.${index}@d${index % 25}.test`,
  })
  const list = (index: number) => ({
    name: source.title(2),
    address: `news@list${index}.test`,
    style: styleSheet(source, 60),
    row: source.words(12),
    foot: source.text(1200),
  })
  return {
    people: Array.from({ length: 120 }, (_, index) => person(index)),
    lists: Array.from({ length: 30 }, (_, index) => list(index)),
    shared: Array.from({ length: 40 }, () => attachment(source)),
    threads: [],
  }
}

function mixedMessage(source: Source, world: World, index: number): string {
  const share = source.chance()
  const kind = share < 0.5 ? 'note' : share < 0.75 ? 'letter' : share < 0.9 ? 'news' : 'parcel'
  const list = kind === 'news' ? source.pick(world.lists) : undefined
  const sender = list ?? source.pick(world.people)
  const domain = sender.address.slice(sender.address.indexOf('@') + 1)
  const id = `${source.hex(24)}@${domain}`
  const answers = list === undefined && world.threads.length > 0 && source.chance() < 0.5
  const parent = answers ? source.pick(world.threads.slice(-400)) : undefined
  const subject = parent === undefined ? freshSubject(source) : `Re: ${parent.subject.replace(/^Re: /, '')}`
  const references = parent === undefined ? [] : [...parent.references, parent.id].slice(-8)
  world.threads.push({ id, subject, references })
  const trace =
    `Received: from out${source.below(9)}.${domain} (out.${domain} [192.0.2.${1 + source.below(250)}])\r\n` +
    `\tby mx1.bench.test with ESMTPS id ${source.hex(11).toUpperCase()}\r\n\tfor <user@bench.test>; ${dateOf(index)}\r\n` +
    `Received: by smtp.${domain} with ESMTPSA id ${source.hex(16)};\r\n\t${dateOf(index)}\r\n`
  const copies = list === undefined && source.chance() < 0.3
  const head =
    trace +
    signature(source, domain) +
    `Authentication-Results: mx1.bench.test; dkim=pass header.d=${domain}; spf=pass smtp.mailfrom=${sender.address}\r\n` +
    `Date: ${dateOf(index)}\r\nFrom: ${sender.name} <${sender.address}>\r\nTo: User <user@bench.test>\r\n` +
    (copies ? `Cc: ${source.pick(world.people).address}, ${source.pick(world.people).address}\r\n` : '') +
    `Subject: ${subject}\r\nMessage-ID: <${id}>\r\n` +
    (parent === undefined ? '' : `In-Reply-To: <${parent.id}>\r\nReferences: ${inAngles(references)}\r\n`) +
    'MIME-Version: 1.0\r\n'
  if (list !== undefined) return head + newsletter(source, list, domain)
  if (kind === 'note') return head + note(source, parent !== undefined)
  return head + (kind === 'letter' ? letter(source, source.spread(4500, 0.6)) : parcel(source, world))
}

function freshSubject(source: Source): string {
  if (source.chance() >= 0.12) return source.title(3 + source.below(6))
  return `=?utf-8?B?${Buffer.from(`Grüße über ${source.words(3)}`).toString('base64')}?=`
}

function inAngles(ids: readonly string[]): string {
  return ids.map(id => `<${id}>`).join('\r\n ')
}

function signature(source: Source, domain: string): string {
  const lines = [64, 72, 72, 72, 62].map(length => source.letters(length, base64)).join('\r\n\t ')
  return (
    `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=${domain}; s=s1;\r\n` +
    `\th=from:to:subject:date:message-id:mime-version;\r\n\tbh=${source.letters(43, base64)}=;\r\n\tb=${lines}==\r\n`
  )
}

function note(source: Source, quotes: boolean): string {
  const head = 'User-Agent: Bench\r\nContent-Type: text/plain; charset=UTF-8; format=flowed\r\n'
  const own = `Hello,\r\n\r\n${source.text(Math.min(12_000, source.spread(700, 0.8)))}Regards,\r\n${source.title(1)}\r\n`
  const text = quotes ? source.text(Math.min(9000, source.spread(900, 0.8))) : ''
  const quoted = text
    .split('\r\n')
    .map(line => `> ${line}`)
    .join('\r\n')
  const answer = quotes ? `\r\nOn ${dateOf(source.below(9999))}, someone wrote:\r\n${quoted}\r\n` : ''
  return `${head}Content-Transfer-Encoding: 7bit\r\n\r\n${own}${answer}`
}

function letter(source: Source, size: number): string {
  const boundary = `----=_Alt_${source.hex(18)}`
  const plain = source.text(Math.min(40_000, size))
  const paragraphs = plain
    .split('\r\n\r\n')
    .map(text => `<p style="margin:0 0 12px 0;font-family:Calibri,sans-serif">${text}</p>`)
  const html = `<html><head>${styleSheet(source, 24)}</head><body>${paragraphs.join('\r\n')}</body></html>`
  return (
    `Content-Type: multipart/alternative; boundary="${boundary}"\r\n\r\n` +
    `--${boundary}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 7bit\r\n\r\n${plain}\r\n` +
    `--${boundary}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n` +
    `${quotedPrintable(html)}\r\n--${boundary}--\r\n`
  )
}

function newsletter(source: Source, list: List, domain: string): string {
  const cell = '<tr><td class="c1" style="padding:12px;font-family:Arial,Helvetica,sans-serif;font-size:14px">'
  const row = () =>
    `${cell}<a href="https://${domain}/c/${source.hex(24)}">${source.words(6)}</a><br>${source.title(9)}. ${list.row}</td></tr>`
  const rows = Array.from({ length: 20 + source.below(60) }, row).join('\r\n')
  const html = `<html><head>${list.style}</head><body><table>${rows}</table><p>${list.foot}</p></body></html>`
  return (
    `List-Id: <list.${domain}>\r\nList-Unsubscribe: <https://${domain}/u/${source.hex(32)}>\r\nPrecedence: bulk\r\n` +
    `Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n${quotedPrintable(html)}\r\n`
  )
}

function parcel(source: Source, world: World): string {
  const boundary = `----=_Part_${source.hex(18)}`
  let text = `Content-Type: multipart/mixed; boundary="${boundary}"\r\n\r\n--${boundary}\r\n${letter(source, 1500)}`
  for (let left = source.chance() < 0.25 ? 2 : 1; left > 0; left--) {
    const { type, name, body } = source.chance() < 0.33 ? source.pick(world.shared) : attachment(source)
    text +=
      `\r\n--${boundary}\r\nContent-Type: ${type}; name="${name}"\r\nContent-Disposition: attachment; filename="${name}"\r\n` +
      `Content-Transfer-Encoding: base64\r\n\r\n${body}\r\n`
  }
  return `${text}--${boundary}--\r\n`
}

function attachment(source: Source): Attachment {
  const soft = source.chance() < 0.3
  const hard = ['application/pdf', 'image/jpeg', 'application/zip']
  const type = source.pick(soft ? ['text/csv', 'application/json'] : hard)
  const bytes = Buffer.alloc(Math.max(2000, Math.min(2_000_000, source.spread(110_000, 1.1))))
  if (soft) bytes.fill(source.text(Math.min(bytes.length, 20_000)))
  else for (let at = 0; at + 4 <= bytes.length; at += 4) bytes.writeUInt32LE((source.chance() * 2 ** 32) >>> 0, at)
  const body = bytes.toString('base64').replace(/.{76}/g, '$&\r\n')
  return { type, name: `${source.word()}-${source.below(999)}.${soft ? 'csv' : 'bin'}`, body }
}

function styleSheet(source: Source, count: number): string {
  const rule = (index: number) =>
    `.c${index}{color:#${source.hex(6)};margin:${source.below(20)}px;padding:${source.below(20)}px;font:${10 + source.below(8)}px Arial}\r\n`
  return `<style>${Array.from({ length: count }, (_, index) => rule(index)).join('')}</style>`
}

function quotedPrintable(text: string): string {
  return text
    .replaceAll('=', '=3D')
    .split('\r\n')
    .map(line => line.replace(/.{70,72}(?<!=.?)(?=.)/g, '$&=\r\n'))
    .join('\r\n')
}
