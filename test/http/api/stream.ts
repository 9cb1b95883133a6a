// A reader of server-sent events: what came so far, as objects.

import { after } from '#lib/clock.ts'

export interface Told {
  readonly id: string | undefined
  readonly event: string | undefined
  readonly data: Record<string, unknown>
}

export class EventReader {
  readonly told: Told[] = []
  readonly comments: string[] = []
  retry: string | undefined
  ended = false
  readonly #abort = new AbortController()
  #wake: (() => void)[] = []

  /** Opens a stream; resolves once the service has answered. */
  static async open(url: string, token: string, lastEventId?: string): Promise<EventReader> {
    const reader = new EventReader()
    const headers: Record<string, string> = { 'x-access-token': token }
    if (lastEventId !== undefined) headers['last-event-id'] = lastEventId
    const response = await fetch(url, { headers, signal: reader.#abort.signal })
    if (response.status !== 200 || response.body === null) throw new Error(`no stream: ${await response.text()}`)
    void reader.#pump(response.body).catch(() => {})
    return reader
  }

  /** Commands so far, without COUNTERS unless asked for. */
  commands(counters = false): unknown[] {
    return this.told.map(one => one.data.command).filter(command => counters || command !== 'COUNTERS')
  }

  /** Resolves when `good` holds; fails after ten seconds. */
  async until(good: () => boolean): Promise<void> {
    let late = false
    const timer = after(10_000, () => {
      late = true
      this.#tell()
    })
    while (!good()) {
      if (late) throw new Error(`waited in vain: ${JSON.stringify(this.told.slice(-5))}`)
      await new Promise<void>(resolve => this.#wake.push(resolve))
    }
    timer.cancel()
  }

  close(): void {
    this.#abort.abort()
  }

  async #pump(body: ReadableStream<Uint8Array>): Promise<void> {
    let text = ''
    try {
      for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
        text += chunk
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          this.#block(text.slice(0, end).split('\n'))
          text = text.slice(end + 2)
        }
        this.#tell()
      }
    } finally {
      this.ended = true
      this.#tell()
    }
  }

  #block(lines: readonly string[]): void {
    const field = (name: string) =>
      lines.filter(line => line.startsWith(`${name}: `)).map(line => line.slice(name.length + 2))
    for (const line of lines) if (line.startsWith(': ')) this.comments.push(line.slice(2))
    this.retry = field('retry')[0] ?? this.retry
    const data = field('data').join('\n')
    if (data !== '') this.told.push({ id: field('id')[0], event: field('event')[0], data: JSON.parse(data) })
  }

  #tell(): void {
    const wake = this.#wake
    this.#wake = []
    for (const resolve of wake) resolve()
  }
}
