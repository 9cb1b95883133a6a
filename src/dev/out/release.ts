// Sends a caught mail on to a real server, where somebody asked for it by hand: the one thing of `teal dev` that leaves this machine.
//
// Off unless a server and those who may get mail are both named. Every recipient must be one of them, or none gets it. The bytes are
// those that came, below the fields of delivery that were put on top here.

import { Readable } from 'node:stream'
import { limits } from '#lib/limits.ts'
import { smtpConnection } from '#lib/process/lazy.ts'
import { invalid, Unwelcome } from '../exchange.ts'

export interface ReleaseOptions {
  /** `smtp://user:password@host:587`, or `smtps:`. */
  readonly url: string
  /** Addresses and domains; `*` is everybody. */
  readonly to: readonly string[]
}

export class Release {
  readonly #url: URL
  readonly #allowed: ReadonlySet<string>

  /** @throws TypeError with what is wrong with the options */
  constructor({ url, to }: ReleaseOptions) {
    if (!URL.canParse(url)) throw new TypeError(`'${url}' is no URL such as smtp://user:password@host:587`)
    this.#url = new URL(url)
    if (!/^smtps?:$/.test(this.#url.protocol) || this.#url.hostname === '')
      throw new TypeError('A server that mail is released to is smtp://host or smtps://host')
    if (to.length === 0) throw new TypeError('Whom mail may be released to must be said: addresses, domains, or *')
    this.#allowed = new Set(to.map(one => one.toLowerCase().replace(/^@/, '')))
  }

  /** What may be shown of it. */
  about(): object {
    return { server: this.#url.host, to: [...this.#allowed] }
  }

  /** @throws Unwelcome */
  async send(from: string, to: readonly string[], message: Buffer): Promise<void> {
    if (to.length === 0 || to.some(address => !/^[^\s<>@]+@[^\s<>@]+$/.test(address)))
      throw invalid('to is a list of addresses')
    const refused = to.filter(address => !this.#allows(address))
    if (refused.length > 0)
      throw new Unwelcome(403, 'NotAllowed', `Mail may not be released to ${refused.join(', ')}`, { refused })
    try {
      await this.#deliver(from, to, bare(message))
    } catch (error) {
      const { response, message: said } = error as { response?: string; message: string }
      throw new Unwelcome(502, 'NotReleased', response ?? said)
    }
  }

  #allows(address: string): boolean {
    const wanted = address.toLowerCase()
    return ['*', wanted, wanted.slice(wanted.lastIndexOf('@') + 1)].some(one => this.#allowed.has(one))
  }

  #deliver(from: string, to: readonly string[], message: Buffer): Promise<void> {
    const { hostname, port, protocol, username, password } = this.#url
    const secure = protocol === 'smtps:'
    const isNear = /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname)
    const hasLogin = username !== ''
    const Connection = smtpConnection()
    const connection = new Connection({
      ...{ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (secure ? 465 : 587), secure },
      // No password goes in the clear but to this machine itself; a certificate is wanted wherever there is TLS.
      ...{ requireTLS: hasLogin && !secure && !isNear, ignoreTLS: isNear && !secure },
      ...{
        connectionTimeout: limits.dev.releaseMs,
        greetingTimeout: limits.dev.releaseMs,
        socketTimeout: limits.dev.releaseMs,
      },
    })
    return new Promise((resolve, reject) => {
      const failed = (error: Error) => {
        reject(error)
        connection.close()
      }
      const send = () =>
        connection.send({ from, to: [...to], size: message.length }, Readable.from([message]), (error, info) => {
          if (error !== null) return failed(error)
          connection.quit()
          const [refused] = info.rejectedErrors ?? []
          if (refused !== undefined) reject(refused)
          else resolve()
        })
      connection.once('error', failed)
      connection.once('end', () => reject(new Error('The connection was cut')))
      connection.connect(() => {
        if (!hasLogin) return send()
        const credentials = { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
        connection.login({ credentials } as never, error => (error === null ? send() : failed(error)))
      })
    })
  }
}

/** Without what delivery put on top (RFC 5321 4.4: a server that sends it on must not leave a Return-Path in it). */
function bare(message: Buffer): Buffer {
  const trace = /^(?:delivered-to|return-path|authentication-results):[^\r\n]*(?:\r\n[ \t][^\r\n]*)*\r\n/i
  let rest = message
  for (;;) {
    const [found] = trace.exec(rest.subarray(0, limits.dev.traceBytes).toString('latin1')) ?? []
    if (found === undefined) return rest
    rest = rest.subarray(found.length)
  }
}
