// Delivers messages over LMTP or SMTP on many connections, each carrying one message after another.
//
// Commands are pipelined as far as RFC 2920 lets them: MAIL, RCPT and DATA in one write. An operation is one message,
// from that write to the last answer after its body.

import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import type { DeliverJob, LoadResult, SigningKey } from './job.ts'
import { LoadCounters } from './job.ts'
import { type LineClient, openLines } from './line.ts'
import { fixedMessages, mixedMessages, onTheWire, type Stamped, stamp } from './messages.ts'

export async function deliver(job: DeliverJob): Promise<LoadResult> {
  const messages = await messageSource(job)
  const counters = new LoadCounters(job)
  return counters.run(ended => open(job, counters, messages, ended))
}

/** What comes next: the body with its end, or undefined when the mixture is used up. */
type MessageSource = () => Buffer | undefined

async function messageSource(job: DeliverJob): Promise<MessageSource> {
  if (job.size === 'mixed') {
    const messages = mixedMessages(job.count ?? 0, job.seed)
    return () => {
      const { value, done } = messages.next()
      return done === true ? undefined : onTheWire(value)
    }
  }
  // Ready to be sent: what the generator does for each message is taken from whom it measures. With more connections than
  // messages one would change while it is sent.
  const plain = fixedMessages(job.size, Math.max(200, 2 * job.connections), job.seed)
  const { key } = job
  const made = key === undefined ? plain : await Promise.all(plain.map(message => signed(message, key)))
  const pool = made.map(({ bytes, at }) => ({ bytes: onTheWire(bytes), at }))
  const run = Math.floor(performance.timeOrigin).toString(36)
  let index = 0
  return () => {
    const message = pool[index++ % pool.length]
    return message === undefined ? undefined : stamp(message, run)
  }
}

/** With a signature that holds when the message is stamped. */
async function signed({ bytes, at }: Stamped, { domain, selector, privateKey }: SigningKey): Promise<Stamped> {
  const { signatures } = await dkimSign(bytes, {
    canonicalization: 'relaxed/relaxed',
    headerList: 'From:To:Subject:Date:MIME-Version:Content-Type',
    ...{ signingDomain: domain, selector, privateKey },
    signatureData: [{ signingDomain: domain, selector, privateKey }],
  })
  if (signatures === '') throw new Error('a message could not be signed')
  const field = Buffer.from(signatures)
  return { bytes: Buffer.concat([field, bytes]), at: at + field.length }
}

type Stage = 'greeting' | 'hello' | 'mail' | 'recipient' | 'data' | 'body'

function open(job: DeliverJob, counters: LoadCounters, messages: MessageSource, ended: () => void): void {
  let stage: Stage = 'greeting'
  let since = 0
  let body: Buffer | undefined

  const next = (client: LineClient): void => {
    const number = counters.next()
    body = number === undefined ? undefined : messages()
    if (number === undefined || body === undefined) {
      client.end()
      return
    }
    const recipient = job.recipients[number % job.recipients.length]
    since = performance.now()
    stage = 'mail'
    client.send(`MAIL FROM:<sender@remote.test>\r\nRCPT TO:<${recipient}>\r\nDATA\r\n`)
  }

  const onLine = (line: string, client: LineClient): void => {
    if (line.charCodeAt(3) === 0x2d) return
    const good = line.startsWith(stage === 'greeting' ? '220' : stage === 'data' ? '354' : '250')
    if (!good) {
      counters.failed(`${stage}: ${line}`)
      client.end()
    } else if (stage === 'greeting') {
      stage = 'hello'
      client.send(job.protocol === 'lmtp' ? 'LHLO bench.test\r\n' : 'EHLO bench.test\r\n')
    } else if (stage === 'hello') next(client)
    else if (stage === 'mail') stage = 'recipient'
    else if (stage === 'recipient') stage = 'data'
    else if (stage === 'data') {
      stage = 'body'
      client.sendBytes(body ?? Buffer.alloc(0))
    } else {
      counters.done(since, (body?.length ?? 0) - 3)
      next(client)
    }
  }

  openLines(job, onLine, error => {
    if (error !== undefined) counters.failed(error.message)
    ended()
  })
}
