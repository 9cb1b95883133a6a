// Units for writes that are made of several statements, or read between them: what each may meet, one after the other.

import '#store/writer/writes.ts'
import type { WrittenUnit } from '#store/engine/postgres/writer/writing.ts'
import { findWrite } from '#store/engine/write.ts'
import { rowFor, unit } from './rows.ts'

type Row = Record<string, unknown>

/** An operation of a row as the program has it: a row of the table with these columns changed. */
function of(name: string, table: string, number: number, changes: Row = {}): [string, unknown] {
  const row = { ...rowFor(table, number), ...changes }
  const write = findWrite(name)
  return [name, write.encode === undefined ? row : write.encode(row)]
}

const bytes = (text: string) => Buffer.from(text.repeat(60))
const hash = (number: number) => Buffer.alloc(32, number)

function body(num: number, parts: readonly number[] = []): [string, unknown] {
  const made = parts.map(one => ({
    hash: hash(one),
    size: 60,
    codec: null,
    data: bytes(String(one)),
    file: null,
    stored: 0,
  }))
  return [
    'body.add',
    {
      num,
      size: 100 + num,
      added: num % 3,
      recipe: parts.length > 0 ? Buffer.from([1, 2]) : null,
      skeleton: bytes('s'),
      parts: made,
    },
  ]
}

const user = (num: number, domain: string, more: Row = {}) =>
  of('user.insert', 'user', num, {
    ...{ num, id: `u${num}`, key: `key${num}`, address: `a${num}@${domain}`, quota: 0, deleted: null, ...more },
  })
const domain = (name: string, more: Row = {}) =>
  of('domain.put', 'domain', 1, {
    name,
    disabled: false,
    maxUsers: 0,
    maxAddresses: 0,
    maxForwards: 0,
    quota: 0,
    ...more,
  })
const message = (num: number, mailbox: number, more: Row = {}, write = 'message.append') =>
  of(write, 'message', num, {
    num,
    uid: num,
    mailbox,
    user: 1,
    size: 10,
    flags: num & 1,
    expires: null,
    ...more,
  })
const outbound = (num: number, more: Row = {}): [string, unknown] => {
  const row = { ...rowFor('outbound', num), num, due: 1000, options: {}, origin: 'submission', ...more }
  const targets = [
    { kind: 'mail', value: 'x@y.example', destination: 'y.example' },
    { kind: 'http', value: 'https://z.example', destination: 'z.example' },
  ]
  return ['outbound.insert', findWrite('outbound.insert').encode?.({ ...row, targets })]
}
const outcome = (seq: number, state: number, more: Row = {}) => ({
  ...{ seq, state, due: 5000, counts: true, failure: 'f', status: 450, response: 'r', warned: false, ...more },
})
const delivery = (event: number): [string, unknown] => ['event.insert', [event, 'n', null, '{"a":"\\u0000"}', 5]]

const one = (...operations: (readonly [string, unknown])[]) => unit(operations)

/** Batches, in order. */
export const scenario: readonly (readonly WrittenUnit[])[] = [
  // Accounts, domains and what they may hold.
  [one(domain('kühl.example', { maxUsers: 1, maxAddresses: 1, maxForwards: 0, quota: 50 })), one(domain('b.example'))],
  [one(user(1, 'kühl.example', { quota: 20 }), ['domain.grow', { domain: 'kühl.example', users: true, quota: 30 }])],
  [
    one(user(2, 'kühl.example'), ['domain.grow', { domain: 'kühl.example', users: true }]),
    one(user(3, 'kühl.example'), ['domain.grow', { domain: 'kühl.example', quota: 60 }]),
    one(user(4, 'b.example'), [
      'domain.grow',
      { domain: 'b.example', users: true, addresses: true, forwards: true, quota: 1 },
    ]),
    one(user(4, 'b.example')),
    one(['domain.grow', { domain: 'nowhere.example', users: true }]),
  ],
  [
    one(['domain_admin.put', { domain: 'b.example', users: ['u1', 'u4'] }]),
    one(['user.rehash', { num: 1, from: 'x', to: 'y' }]),
  ],
  [
    one(['domain.rename', { previous: 'b.example', current: 'kühl.example' }]),
    one(['domain.rename', { previous: 'b.example', current: 'c.example' }]),
  ],
  [
    one(of('domainalias.insert', 'domainalias', 7, { alias: 'alias.example', domain: 'kühl.example' })),
    one(['domainalias.rename', { previous: 'kühl.example', current: 'bücher.kühl.example' }]),
  ],
  [one(['login.put', { user: 1, at: 5 }], ['login.put', { user: 1, at: 3 }], ['login.put', { user: 99, at: 3 }])],
  [
    one(['authlog.add', { ...rowFor('authlog', 3), user: 1, id: 'e' }]),
    one(
      ['authlog.add', { ...rowFor('authlog', 3), user: 1, id: 'e', last: 99 }],
      ['authlog.add', { ...rowFor('authlog', 4), user: 77 }],
    ),
  ],
  [one(['token.keep', { hash: 'none', user: 'u1', authVersion: 3 }], ['authlog.expire', { at: 8, count: 2 }])],
  [
    one(...[1, 2, 3].map(seed => of('token.insert', 'token', seed, { user: 'u1', role: 'user', expires: 10 - seed }))),
    one(['token.bound', { user: 'u1', max: 2 }]),
  ],
  // Bodies, messages, audits.
  [
    one(body(1, [1, 2, 1]), of('mailbox.insert', 'mailbox', 1, { num: 1, id: 'm1', user: 1, path: 'INBOX' })),
    one(body(2, [2])),
    one(body(2, [2])),
  ],
  [
    one(['body.retain', { num: 1 }]),
    one(['body.retain', { num: 55 }]),
    one(['body.release', { num: 1 }]),
    one(['body.release', { num: 55 }]),
  ],
  [one(message(1, 1, { body: 1 }), of('tally.add', 'tally', 1, { mailbox: 1, total: 1, unseen: 0, size: 10 }))],
  [one(of('audit.insert', 'audit', 1, { id: 'audit1', user: 'u1', starts: null, ends: null, expires: 900_000 }))],
  [one(body(3), message(3, 1, { body: 3, saved: 500, meta: { from: 'f@x', source: 'api' } }))],
  // What came and is not stored.
  [one(body(4), message(4, 1, { body: 4, saved: 500, meta: { from: 'g@x', source: 'smtp' } }, 'audit.arrival'))],
  [one(message(4, 2, { body: 4, saved: 950_000, meta: { from: 'g@x', source: 'smtp' } }, 'audit.arrival'))],
  [
    one(['audit.copy', { audit: 'audit1', nums: [1, 3, 99], at: 700 }]),
    one(['audit.copy', { audit: 'audit1', nums: [1], at: 700 }]),
  ],
  [
    one([
      'search.add',
      {
        docs: [
          { user: 1, body: 3, text: 'ein text mit wörtern', whole: true },
          { user: 1, body: 1, text: '', whole: false },
          { user: 9, body: 9, text: 'x', whole: true },
        ],
      },
    ]),
  ],
  [
    one([
      'message.flags',
      {
        mailbox: 1,
        modseq: 9,
        from: Uint32Array.of(1, 3),
        to: Uint32Array.of(2, 3),
        flags: Uint8Array.of(3, 5),
        ...{ keep: 4, put: 3 },
        keywords: [null, 'a b'],
      },
    ]),
  ],
  [
    one(['message.restamp', { mailbox: 1, from: 1, to: 9, retention: 1000 }]),
    one(['message.restamp', { mailbox: 1, from: 1, to: 1, retention: 0 }]),
  ],
  [
    one([
      'mailbox.update',
      {
        ...(findWrite('mailbox.update').encode?.({
          ...rowFor('mailbox', 1),
          num: 1,
          id: 'm1',
          user: 1,
          path: 'X',
        }) as Row),
        created: 13,
      },
    ]),
  ],
  [
    one(['audit.end', { id: 'audit1', at: 800 }], ['audit.drop', { id: 'audit1', count: 1 }]),
    one(['audit.drop', { id: 'audit1', count: 5 }]),
  ],
  [
    one(of('message.insert', 'message', 4, { num: 4, uid: 4, mailbox: 1, user: 1, body: 2 })),
    one(of('outline.insert', 'outline', 3, { body: 3 })),
    // Long texts come as bytes, in pieces; one that is there stays.
    one(
      of('outline.insert', 'outline', 4, {
        body: 4,
        summary: [bytes('ä \u{1f600}'), bytes('"')],
        detail: [bytes('ß')],
      }),
    ),
    one(of('outline.insert', 'outline', 5, { body: 4, envelope: [bytes('other')] })),
    one(of('message.expunge', 'expunged', 4, { mailbox: 1, uid: 4 })),
  ],
  [
    one(of('archive.insert', 'archive', 4, { num: 4, user: 1, body: 2 })),
    one(of('archive.insert', 'archive', 5, { num: 5, user: 1, body: 2 }), ['body.retain', { num: 2 }]),
  ],
  [
    one(['archive.take', { num: 4 }]),
    one(['archive.take', { num: 4 }]),
    one(['archive.drop', { nums: [5, 6] }]),
    one(['archive.forget', { user: 1 }]),
  ],
  [one(body(7, [5]), of('file.insert', 'file', 1, { id: 'f1', body: 7 })), one(['file.delete', { ids: ['f1', 'f2'] }])],
  [
    one(['part.suspect', { names: [] }], ['stray.note', { names: ['s1'], day: 4 }]),
    one(['stray.note', { names: ['s1', 's2'], day: 5 }], ['stray.note', { names: ['s1'], day: 5 }]),
    one(['stray.forget', { day: 4 }]),
  ],
  // The queue.
  [
    one(body(8), outbound(901, { user: 'u1', body: 8 })),
    one(['outbound.claim', { claims: [{ message: 901, seqs: [1, 2], due: 3000 }], at: 1500 }]),
  ],
  [
    one([
      'outbound.settle',
      { message: 901, at: 1600, outcomes: [outcome(1, 0, { warned: true }), outcome(2, 2, { counts: false })] },
    ]),
  ],
  [
    one([
      'sending_pause.begin',
      {
        row: findWrite('sending_pause.put').encode?.({ ...rowFor('sending_pause', 1), user: 'u1', resumed: null }),
        user: 'u1',
      },
    ]),
  ],
  [
    one(body(9), outbound(902, { user: 'u1', body: 9 })),
    one(
      body(10),
      outbound(903, { user: null, body: 10, options: { forwardedFor: 'w@BÜCHER.kühl.example'.toLowerCase() } }),
    ),
  ],
  [one(domain('bücher.kühl.example', { disabled: true }), ['outbound.domains', null])],
  [
    one(
      body(11),
      outbound(904, { user: null, body: 11, options: { forwardedFor: 'w@xn--bcher-kva.xn--khl-hoa.example' } }),
    ),
    one(body(12), outbound(905, { user: 'u1', body: 12, origin: 'forward' })),
  ],
  [
    one(['outbound.retry', { message: 904, at: 77 }]),
    one(['outbound.hold', { message: 905 }]),
    one(['outbound.lanes', [{ message: 905, seq: 1, destination: 'smtp://relay.test' }]]),
    one(['outbound.clock', { at: 60, after: 70 }], ['signing_key.clock', { at: 5, after: 6 }]),
    one(['outbound.recover', { due: 2000 }]),
  ],
  [one(domain('bücher.kühl.example'), ['outbound.domains', null]), one(['sending_pause.end', { user: 'u1', at: 9 }])],
  [
    one(['outbound.cancel', { message: 902, at: 1700 }]),
    one(['outbound.cancel', { message: 902, at: 1800 }]),
    one(['outbound.sweep', { before: 1750, count: 5 }]),
  ],
  [
    one(
      ['sending_pace.note', { user: 'u1', day: 5, peak: 3, before: 2 }],
      ['sending_pace.note', { user: 'u1', day: 5, peak: 2, before: 5 }],
    ),
  ],
  ...[10, 20, 5000, 9000].map(at => [
    one([
      'suppression.note',
      {
        user: 'u1',
        address: `x${at & 8}@y`,
        at,
        waits: [1000, 0, 50],
        status: '5',
        response: 'r',
        source: 'answer',
        rowsMax: 3,
      },
    ]),
  ]),
  [
    one([
      'suppression.set',
      {
        row: findWrite('suppression.put').encode?.({ ...rowFor('suppression', 3), user: 'u1' }),
        user: 'u1',
        rowsMax: 2,
      },
    ]),
    one(['suppression.sweep', { before: 1_000_000, count: 9 }]),
  ],
  ...[false, true].map(told => [
    one([
      'forward_trouble.note',
      { owner: 'u1', target: 't', last: told ? 7 : 5, status: 's', response: 'r', told, warned: !told },
    ]),
  ]),
  [one(['forward_trouble.sweep', { before: 99, count: 9 }])],
  [
    one([
      'report.add',
      {
        rowsMax: 2,
        rows: ['a', 'b', 'c', 'a', 'd'].map((detail, at) => ({
          kind: 'tls',
          day: 0,
          domain: 'd',
          detail,
          count: at + 1,
        })),
      },
    ]),
    one(['report.done', { kind: 'tls', day: 1, domain: 'd' }]),
  ],
  ...['', 'p', 'q'].map((proven, at) => [
    one([
      'arrived_report.keep',
      {
        row: findWrite('arrived_report.put').encode?.({
          ...rowFor('arrived_report', 3),
          begin: at,
          received: 50 + at,
          reporter: `r${at >> 1}`,
          proven,
        }),
        about: { ...rowFor('arrived_report', 3), reporter: `r${at >> 1}`, proven },
        keepMax: 1,
        before: 40,
      },
    ]),
  ]),
  [one(['sts_policy.sweep', { before: 15, count: 1, rowsMax: 1 }])],
  // What else there is.
  [
    one(['acme.progress', { certificate: 'none', due: 1, expires: null, attempts: 0, failure: null }]),
    one(
      of('certificate.put', 'certificate', 5, { id: 'c5' }),
      ['acme.progress', { certificate: 'c5', due: 1, expires: null, attempts: 0, failure: null }],
      ['acme.progress', { certificate: 'c5', due: 2, expires: 5, attempts: 1, failure: 'f' }],
    ),
  ],
  [
    one(['certificate.delete', { id: 'c5' }]),
    one(['domain.delete', { name: 'c.example' }]),
    one(['dkim.rename', { previous: 'a', current: 'b' }]),
    one(['mark.sweep', { rowsMax: 1 }]),
  ],
  [
    one(['domainaccess.put', { id: 'i', tag: 't', domain: 'd', action: 'allow', created: 1 }]),
    one(['domainaccess.put', { id: 'j', tag: 't', domain: 'd', action: 'block', created: 2 }]),
  ],
  [
    one(['webhook.insert', { ...rowFor('webhook', 5), id: 'w', endpoint: 71, url: 'https://w.example' }]),
    one(['webhook.insert', { ...rowFor('webhook', 6), id: 'v', endpoint: 71, url: 'https://w.example' }]),
  ],
  [
    one(delivery(8001)),
    one(delivery(8002)),
    one([
      'event.fanout',
      {
        cursor: 8002,
        events: [
          [
            8001,
            [
              [71, 'w'],
              [71, 'gone'],
              [71, 'v'],
            ],
          ],
          [8002, [[71, 'gone']]],
        ],
      },
    ]),
  ],
  [
    one([
      'delivery.claim',
      {
        at: 5,
        rows: [
          [8001, 1, 50],
          [8001, 3, 60],
        ],
      },
    ]),
    one(['delivery.clock', { at: 2, after: 3 }]),
    one([
      'delivery.settle',
      {
        done: [[8001, 1]],
        failed: [{ event: 8001, n: 3, dead: true, due: 9, failure: 'f', status: null }],
        released: [[8001, 3]],
        health: [{ num: 71, failures: 2, since: 4 }],
      },
    ]),
  ],
  [one(['delivery.replay', { rows: [[8001, 3]] }]), one(['delivery.delete', { rows: [[8001, 3]] }])],
  [
    one(['urls.replace', { place: 'endpoint', rows: [[71, 'https://w.example', 'https://sealed.example']] }]),
    one(['urls.replace', { place: 'filter', rows: [[10, 'x', 'y']] }]),
    one(['webhook.delete', { id: 'w' }]),
  ],
  [
    one([
      'spam.mark',
      {
        user: 1,
        spam: true,
        at: 5,
        marks: [
          [11, 1],
          [12, 1],
        ],
      },
    ]),
    one(['spam.mark', { user: 1, spam: false, at: 6, marks: [[11, 3]] }]),
  ],
  [
    one([
      'spam.learned',
      {
        user: 1,
        rows: [{ reference: 11, body: 1, spam: true, features: bytes('f') }],
        gone: [12, 13],
        models: [{ user: 1, spam: 1, ham: 0, data: bytes('m') }],
      },
    ]),
    one([
      'spam.learned',
      { user: 99, rows: [], gone: [11], models: [{ user: 99, spam: 1, ham: 0, data: bytes('m') }] },
    ]),
  ],
  [
    one(['spam.mark', { user: 1, spam: false, at: 9, marks: [[11, 3]] }]),
    one(['trace.sweep', { before: 16, count: 1 }]),
    one(['figure.expire', { step: 10, before: 50 }]),
  ],
  [
    one([
      'register.note',
      {
        entriesMax: 1,
        notes: [1, 2, 3].map(at => ({
          id: `r${at}`,
          user: 1,
          key: `k${at & 1}`,
          address: 'a',
          name: at === 1 ? '' : 'n',
          used: at,
          known: at === 2,
        })),
      },
    ]),
  ],
  [
    one(
      ['register.update', { id: 'r2', name: null, disabled: 1 }],
      ['register.forget', { user: 1, keys: ['k0', 'k1'] }],
    ),
  ],
  [
    one(of('asp.insert', 'asp', 1, { id: 'asp1', ttl: 5, expires: 10 }), [
      'asp.use',
      { asp: 'asp1', user: 1, at: 5, event: null, ip: 'i', expires: 20 },
    ]),
    one(
      ['asp.use', { asp: 'asp1', user: 1, at: 4, event: 'e', ip: 'j', expires: null }],
      ['asp.use', { asp: 'gone', user: 1, at: 4, event: 'e', ip: 'j', expires: 5 }],
    ),
    one(['asp.delete', { id: 'asp1' }]),
  ],
  [
    one(['contact.delete', { user: 11, ids: ['none'] }]),
    one(of('task.insert', 'task', 1, { id: 't1' }), ['task.claim', { ids: ['t1', 't2'], due: 5, at: 6 }]),
  ],
  [
    one(['task.progress', { id: 't1', due: 5, result: '{}', input: '{"at":1}', at: 7 }]),
    one(['task.progress', { id: 't1', due: 5, result: '{}', input: null, at: 7 }]),
    one(['task.settle', { id: 't1', state: 'done', due: 5, attempts: 1, result: '{}', input: null, at: 8 }]),
    one(of('task.insert', 'task', 3, { id: 't3', user: 'u9' }), of('task.insert', 'task', 4, { id: 't4', user: 'u9' })),
    one(['task.settle', { id: 't3', state: 'done', due: 5, attempts: 1, result: '{}', input: null, at: 8 }]),
    one(['task.trim', { user: 'u9', kept: 2 }], ['task.trim', { user: 'u9', kept: 1 }]),
    one(['task.clock', { at: 2, after: 2 }]),
    one(['task.release', { at: 3 }], ['task.delay', { id: 't1', due: 3, at: 4 }]),
    one(['task.sweep', { before: 9, count: 1 }]),
  ],
  [
    one(
      body(20),
      of('mailbox.insert', 'mailbox', 2, { num: 2, id: 'm2', user: 1, path: 'Other' }),
      message(21, 2, { body: 20 }),
    ),
    one(['removal.messages', { mailbox: 2, user: 1, count: 5 }]),
  ],
  [
    one(['mailbox.forget', { mailbox: 1, upTo: 1000, count: 1 }], ['expunged.sweep', { mailbox: 1, count: 1 }]),
    one(['removal.expunged', { mailbox: 1, count: 1 }]),
    one(['removal.mailbox', { mailbox: 2 }]),
    one(of('mailbox.delete', 'removed_mailbox', 1, { mailbox: 1 })),
  ],
  [...Array.from({ length: 19 }, (_, part) => one(['removal.rows', { part, user: 1, id: 'u1', count: 1 }]))],
  [
    one(['removal.user', { user: 1, id: 'other' }]),
    one(['removal.user', { user: 1, id: 'u1' }]),
    one(['removal.user', { user: 1, id: 'u1' }]),
  ],
]
