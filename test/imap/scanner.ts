// A response of IMAP read from its start to its end: words, numbers, strings and lists as RFC 9051 9 has them.

/** What the client enabled. */
export interface Enabled {
  /** Strings may have 8 bits. */
  readonly utf8: boolean
  /** IMAP4rev2: message/global is a message like others. */
  readonly rev2: boolean
}

export class Scanner {
  readonly #text: string
  readonly enabled: Enabled
  #at = 0

  /** @param text with its literals behind their `{n}` and line end, as latin1 */
  constructor(text: string, enabled: Enabled) {
    this.#text = text
    this.enabled = enabled
  }

  readonly atom = (): string => this.take(/[^\x00-\x20\x7f-\xff(){%*"\\\]]+/y, 'an atom')

  readonly astring = (): string => this.maybe(/[^\x00-\x20\x7f-\xff(){%*"\\]+/y) ?? this.string()

  readonly nstring = (): void => this.nilOr(this.string)

  readonly string = (): string => {
    if (this.has('{')) return this.literal()
    const form = this.enabled.utf8
      ? /"(?:[^"\\\x00\r\n]|\\["\\])*"/y
      : /"(?:[\x01-\x09\x0b\x0c\x0e-\x21\x23-\x5b\x5d-\x7f]|\\["\\])*"/y
    return this.take(form, 'a string').slice(1, -1).replace(/\\(.)/g, '$1')
  }

  literal(): string {
    const size = Number(/\d+/.exec(this.take(/\{\d+\}\r\n/y, 'a literal'))?.[0])
    const bytes = this.#text.slice(this.#at, this.#at + size)
    if (bytes.length < size) this.fail('all of a literal')
    if (bytes.includes('\0')) this.fail('a literal without NUL')
    this.#at += size
    return bytes
  }

  /** literal8 */
  accept8(): boolean {
    const head = this.maybe(/~\{\d+\}\r\n/y)
    if (head === undefined) return false
    this.#at += Number(/\d+/.exec(head)?.[0])
    if (this.#at > this.#text.length) this.fail('all of a literal')
    return true
  }

  readonly number = (): number => {
    const number = Number(this.take(/\d+/y, 'a number'))
    if (number > 0xffffffff) this.fail('a number of 32 bits')
    return number
  }

  readonly number64 = (): void => {
    if (BigInt(this.take(/\d+/y, 'a number')) >= 2n ** 63n) this.fail('a number of 63 bits')
  }

  readonly nz = (): void => {
    if (BigInt(this.take(/[1-9]\d*/y, 'a number above 0')) >= 2n ** 63n) this.fail('a number of 63 bits')
  }

  /** A set of numbers, no `*` in it. */
  readonly set = (): void => {
    this.take(/[1-9]\d*(?::[1-9]\d*)?(?:,[1-9]\d*(?::[1-9]\d*)?)*/y, 'a set of numbers')
  }

  list(item: () => unknown, least = 0): void {
    this.expect('(')
    let count = 0
    if (!this.has(')')) {
      do {
        item()
        count += 1
      } while (this.accept(' '))
    }
    if (count < least) this.fail('something in parentheses')
    this.expect(')')
  }

  each(item: () => unknown): void {
    while (this.accept(' ')) item()
  }

  nilOr(rule: () => unknown): void {
    if (!this.accept('NIL')) rule()
  }

  readonly spThen = (rule: () => unknown): void => {
    this.sp()
    rule()
  }

  sp(): void {
    this.expect(' ')
  }

  word(...words: readonly string[]): string {
    const word = this.take(/[A-Z]+/y, words.join(', '))
    return words.includes(word) ? word : this.fail(words.join(', '))
  }

  accept(text: string): boolean {
    const has = this.#text.startsWith(text, this.#at)
    if (has) this.#at += text.length
    return has
  }

  expect(text: string): void {
    if (!this.accept(text)) this.fail(JSON.stringify(text))
  }

  maybe(form: RegExp): string | undefined {
    form.lastIndex = this.#at
    const found = form.exec(this.#text)?.[0]
    this.#at += found?.length ?? 0
    return found
  }

  take(form: RegExp, what: string): string {
    return this.maybe(form) ?? this.fail(what)
  }

  fail(what: string): never {
    const before = this.#text.slice(Math.max(0, this.#at - 80), this.#at)
    const after = this.#text.slice(this.#at, this.#at + 40)
    throw new Error(
      `Not a response of IMAP: ${what} expected between ${JSON.stringify(before)} and ${JSON.stringify(after)}`,
    )
  }

  has(text: string): boolean {
    return this.#text.startsWith(text, this.#at)
  }

  /** @param form a sticky one */
  is(form: RegExp): boolean {
    form.lastIndex = this.#at
    return form.test(this.#text)
  }

  end(): void {
    if (this.#at < this.#text.length) this.fail('the end')
  }
}
