// A small ACME server for tests (RFC 8555): checks signatures, nonces and requests, reads challenges over HTTP as a real one
// does, and issues with an authority of its own. It can be made to refuse, to wait, to forget and to go away.

import { createHash, createHmac, createPublicKey, type JsonWebKey, verify, X509Certificate } from 'node:crypto'
import { request as get, type IncomingMessage } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { now } from '#lib/clock.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { type Authority, openAuthority } from '../../net/authority.ts'

export interface Refusal {
  readonly status: number
  readonly type: string
  readonly detail?: string
  readonly retryAfter?: string
}

type Status = 'pending' | 'ready' | 'processing' | 'valid' | 'invalid'

interface Order {
  readonly id: string
  readonly name: string
  readonly token: string
  readonly account: string
  status: Status
  proof: Status
  error?: object
  /** Looks at it before a certificate is made. */
  looks: number
  cert?: string
}

interface Signed {
  readonly account: string
  readonly payload: Record<string, unknown> | undefined
}

interface Answer {
  readonly status?: number
  readonly body?: object | string
  readonly headers?: Record<string, string>
}

class Problem extends Error {
  readonly refusal: Refusal
  constructor(refusal: Refusal) {
    super(refusal.type)
    this.refusal = refusal
  }
}

const problem = (type: string, status = 400, detail = type) => new Problem({ status, type, detail })

export class AcmeServer {
  /** What a client trusts when it talks to this server, and what it may trust of what is issued. PEM. */
  readonly root: string
  /** Where the names are whose challenges are read. */
  place: { host: string; port: number } = { host: '127.0.0.1', port: 1 }
  /** Every request, as `newOrder`, `challenge`, `finalize`... */
  calls: string[] = []
  orders = new Map<string, Order>()
  accounts = new Map<string, { jwk: JsonWebKey; contact: unknown }>()
  issued: X509Certificate[] = []
  validDays = 90
  badNonces = 0
  /** Looks at an order while its certificate is being made. */
  processing = 0
  /** Called for each request; what it returns is answered instead. */
  refuse: (call: string, name: string) => Refusal | undefined = () => undefined
  /** Waited for before a challenge is read, or a certificate made. */
  hold: (call: string) => Promise<void> = async () => {}
  /** The key that new accounts have to be bound with, in base64url, by its id. */
  binding: { id: string; key: string } | undefined
  /** The name that is certified instead of the one that was asked for. */
  other: string | undefined
  readonly #issuer: Authority
  readonly #nonces = new Set<string>()
  #server: Server | undefined
  #port = 0
  readonly #pair: { key: string; cert: string }

  private constructor(root: Authority, issuer: Authority, pair: { key: string; cert: string }) {
    this.root = root.cert
    this.#issuer = issuer
    this.#pair = pair
  }

  static async open(): Promise<AcmeServer> {
    const root = await openAuthority()
    const pair = await root.issue({ addresses: ['127.0.0.1'] })
    const server = new AcmeServer(root, await root.delegate('Test intermediate'), pair)
    await server.up()
    return server
  }

  get directory(): string {
    return `${this.#base}/directory`
  }

  get #base(): string {
    return `https://127.0.0.1:${this.#port}`
  }

  /** Listens, on the port it had before. */
  async up(): Promise<void> {
    const server = createServer(this.#pair, (request, response) => {
      this.#answer(request).then(
        ({ status = 200, body = '', headers = {} }) => {
          const text = typeof body === 'string' ? body : JSON.stringify(body)
          const type = {
            'content-type': typeof body === 'string' ? 'application/pem-certificate-chain' : 'application/json',
          }
          response.writeHead(status, { 'replay-nonce': this.#nonce(), ...type, ...headers })
          response.end(request.method === 'HEAD' ? undefined : text)
        },
        () => response.destroy(),
      )
    })
    await new Promise<void>(resolve => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
  }

  async down(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined) return
    await new Promise<void>(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }

  /** How many requests of a kind there were. */
  count(call: string): number {
    return this.calls.filter(one => one === call).length
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const [, call = '', id = ''] = (request.url ?? '').split('/')
    this.calls.push(call)
    try {
      if (call === 'directory') return { body: this.#list() }
      if (call === 'newNonce') return {}
      const signed = await this.#signed(request, call)
      const asked = (signed.payload as { identifiers?: { value: string }[] })?.identifiers?.[0]?.value
      const refusal = this.refuse(call, asked ?? this.orders.get(id)?.name ?? '')
      if (refusal !== undefined) throw new Problem(refusal)
      return await this.#run(call, id, signed)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const { status, type, detail, retryAfter } = error.refusal
      const headers = {
        'content-type': 'application/problem+json',
        ...(retryAfter !== undefined && { 'retry-after': retryAfter }),
      }
      return { status, body: { type: `urn:ietf:params:acme:error:${type}`, detail }, headers }
    }
  }

  #list(): object {
    const names = ['newNonce', 'newAccount', 'newOrder', 'revokeCert', 'keyChange']
    const urls = Object.fromEntries(names.map(name => [name, `${this.#base}/${name}`]))
    return { ...urls, meta: { termsOfService: `${this.#base}/terms` } }
  }

  async #run(call: string, id: string, { account, payload }: Signed): Promise<Answer> {
    if (call === 'newAccount') return this.#newAccount(account, payload)
    if (call === 'account') return this.#account(account, payload)
    if (call === 'newOrder') return this.#newOrder(account, payload)
    const order = this.orders.get(id)
    if (order === undefined || order.account !== account) throw problem('malformed', 404)
    switch (call) {
      case 'order':
        return { body: await this.#shown(order), headers: order.status === 'processing' ? { 'retry-after': '1' } : {} }
      case 'authz':
        return { body: this.#authorization(order) }
      case 'challenge':
        return this.#prove(order)
      case 'finalize':
        return this.#finalize(order, String(payload?.csr))
      case 'cert':
        return { body: (order.cert ?? '') + this.#issuer.cert }
      default:
        throw problem('malformed', 404)
    }
  }

  #newAccount(key: string, payload: Signed['payload']): Answer {
    const jwk = JSON.parse(key) as JsonWebKey
    const id = createHash('sha256').update(key).digest('hex').slice(0, 16)
    const url = `${this.#base}/account/${id}`
    if (payload?.termsOfServiceAgreed !== true) throw problem('userActionRequired', 403)
    if (this.binding !== undefined) this.#bound(payload.externalAccountBinding, key)
    const known = this.accounts.has(url)
    if (!known) this.accounts.set(url, { jwk, contact: payload.contact })
    return { status: known ? 200 : 201, body: { status: 'valid' }, headers: { location: url } }
  }

  /** Whether the key of an account is signed with the one that was given out for it (RFC 8555 7.3.4). */
  #bound(given: unknown, key: string): void {
    const { protected: head = '', payload = '', signature } = (given ?? {}) as Record<string, string>
    if (head === '') throw problem('externalAccountRequired', 403)
    const { id = '', key: secret = '' } = this.binding ?? {}
    const right = createHmac('sha256', Buffer.from(secret, 'base64url'))
      .update(`${head}.${payload}`)
      .digest('base64url')
    const { alg, kid, url } = JSON.parse(Buffer.from(head, 'base64url').toString('utf8'))
    const same = Buffer.from(payload, 'base64url').toString('utf8') === key
    const good = alg === 'HS256' && kid === id && url === `${this.#base}/newAccount` && same && signature === right
    if (!good) throw problem('unauthorized', 403)
  }

  #account(url: string, payload: Signed['payload']): Answer {
    const account = this.accounts.get(url)
    if (account !== undefined && payload?.contact !== undefined) account.contact = payload.contact
    return { body: { status: 'valid' } }
  }

  #newOrder(account: string, payload: Signed['payload']): Answer {
    const identifiers = (payload?.identifiers ?? []) as { type: string; value: string }[]
    const [{ type, value } = { type: '', value: '' }] = identifiers
    if (identifiers.length !== 1 || type !== 'dns') throw problem('unsupportedIdentifier')
    const id = newId()
    const token = createHash('sha256').update(id).digest('base64url')
    const order: Order = { id, name: value, token, account, status: 'pending', proof: 'pending', looks: 0 }
    this.orders.set(id, order)
    return { status: 201, body: this.#body(order), headers: { location: `${this.#base}/order/${id}` } }
  }

  #body({ id, name, status, error }: Order): object {
    return {
      ...{ status, identifiers: [{ type: 'dns', value: name }], error },
      authorizations: [`${this.#base}/authz/${id}`],
      finalize: `${this.#base}/finalize/${id}`,
      ...(status === 'valid' && { certificate: `${this.#base}/cert/${id}` }),
    }
  }

  async #shown(order: Order): Promise<object> {
    if (order.status === 'processing') {
      order.looks += 1
      if (order.looks > this.processing) order.status = 'valid'
    }
    return this.#body(order)
  }

  #authorization({ id, name, token, proof, error }: Order): object {
    const challenges = [
      { type: 'dns-01', url: `${this.#base}/challenge/${id}/dns`, token, status: 'pending' },
      { type: 'http-01', url: `${this.#base}/challenge/${id}`, token, status: proof, error },
    ]
    return { identifier: { type: 'dns', value: name }, status: proof, challenges }
  }

  async #prove(order: Order): Promise<Answer> {
    await this.hold('challenge')
    const key = this.accounts.get(order.account)?.jwk ?? {}
    const { crv, kty, x, y } = key
    const thumbprint = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')
    const read = await this.#read(order).catch((error: Error) => ({ status: 0, text: error.message }))
    const good = read.status === 200 && read.text.trimEnd() === `${order.token}.${thumbprint}`
    order.proof = good ? 'valid' : 'invalid'
    order.status = good ? 'ready' : 'invalid'
    if (!good) {
      const detail = `${order.name} answered ${read.status} ${read.text.slice(0, 100)}`
      order.error = { type: 'urn:ietf:params:acme:error:unauthorized', detail }
    }
    return { body: { type: 'http-01', url: '', token: order.token, status: order.proof } }
  }

  #read({ name, token }: Order): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const path = `/.well-known/acme-challenge/${token}`
      const request = get({ ...this.place, path, headers: { host: name }, agent: false }, response => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', chunk => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      })
      request.on('error', reject)
      request.end()
    })
  }

  async #finalize(order: Order, csr: string): Promise<Answer> {
    if (order.status !== 'ready') throw problem('orderNotReady', 403)
    order.status = 'processing'
    await this.hold('finalize')
    const expires = now() + this.validDays * limits.time.day
    try {
      const request = Buffer.from(csr, 'base64url')
      order.cert = await this.#issuer.certify(request, [order.name], expires)
      if (this.other !== undefined) order.cert = (await this.#issuer.issue({ names: [this.other], expires })).cert
    } catch (error) {
      order.status = 'invalid'
      throw problem('badCSR', 400, String(error))
    }
    this.issued.push(new X509Certificate(order.cert))
    return { body: await this.#shown(order) }
  }

  /** A request's account and payload, when its signature, nonce and address are right (RFC 8555 6.2). */
  async #signed(request: IncomingMessage, call: string): Promise<Signed> {
    let text = ''
    for await (const chunk of request) text += chunk
    const { protected: head, payload, signature } = JSON.parse(text) as Record<string, string>
    if (head === undefined || payload === undefined || signature === undefined) throw problem('malformed')
    const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    const { alg, nonce, url, kid, jwk } = decode(head)
    const key = call === 'newAccount' ? jwk : this.accounts.get(kid)?.jwk
    if (key === undefined) throw problem('accountDoesNotExist')
    const publicKey = createPublicKey({ key, format: 'jwk' })
    const bytes = Buffer.from(`${head}.${payload}`)
    const right = verify(
      'sha256',
      bytes,
      { key: publicKey, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    )
    if (alg !== 'ES256' || !right || url !== this.#base + request.url) throw problem('malformed')
    if (request.headers['content-type'] !== 'application/jose+json') throw problem('malformed', 415)
    if (!this.#nonces.delete(nonce)) throw problem('badNonce')
    if (this.badNonces > 0) {
      this.badNonces -= 1
      throw problem('badNonce')
    }
    const account = call === 'newAccount' ? JSON.stringify(jwk) : kid
    return { account, payload: payload === '' ? undefined : decode(payload) }
  }

  #nonce(): string {
    const nonce = newId()
    this.#nonces.add(nonce)
    return nonce
  }
}
