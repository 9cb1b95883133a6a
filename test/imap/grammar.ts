// The grammar of what an IMAP server says, as strict as any client may be: RFC 9051 9 (3501 where the two agree), with CONDSTORE and QRESYNC
// (7162), ESEARCH (4731), SORT and THREAD (5256), LIST-EXTENDED (5258), STATUS=SIZE (8438), OBJECTID (8474), QUOTA (9208), ID (2971), BINARY
// (3516), PREVIEW (8970), SAVEDATE (8514), NOTIFY (5465) and the codes of 5530. The test client holds every response against it.

import { type Enabled, Scanner } from './scanner.ts'

const codesAlone = new Set(
  (
    'ALERT PARSE READ-ONLY READ-WRITE TRYCREATE UIDNOTSTICKY CLOSED NOMODSEQ NOTSAVED HASCHILDREN UNKNOWN-CTE COMPRESSIONACTIVE ' +
    'UNAVAILABLE AUTHENTICATIONFAILED AUTHORIZATIONFAILED EXPIRED PRIVACYREQUIRED CONTACTADMIN NOPERM INUSE EXPUNGEISSUED CORRUPTION ' +
    'SERVERBUG CLIENTBUG CANNOT LIMIT OVERQUOTA ALREADYEXISTS NONEXISTENT NOTIFICATIONOVERFLOW TOOBIG USEATTR'
  ).split(' '),
)
const codesOfOneNumber = new Set('UIDNEXT UIDVALIDITY UNSEEN HIGHESTMODSEQ'.split(' '))
const statusNumbers = new Set(
  'MESSAGES UIDNEXT UIDVALIDITY UNSEEN RECENT DELETED SIZE HIGHESTMODSEQ APPENDLIMIT DELETED-STORAGE'.split(' '),
)

/** @throws Error for one response (without its last line end) that the grammar does not allow; what is enabled changes it */
export function checkResponse(response: string, enabled: Enabled): void {
  new Grammar(response, enabled).response()
}

class Grammar extends Scanner {
  response(): void {
    if (this.accept('+ ')) {
      if (this.is(/[A-Za-z0-9+/]*={0,2}$/y)) return
      this.#responseText()
    } else if (this.accept('* ')) this.#untagged()
    else {
      this.take(/[^\x00-\x20\x7f-\xff(){%*"\\+]+/y, 'a tag')
      this.sp()
      this.word('OK', 'NO', 'BAD')
      this.sp()
      this.#responseText()
    }
    this.end()
  }

  #untagged(): void {
    if (this.is(/\d/y)) {
      const number = this.number()
      this.sp()
      const name = this.word('EXISTS', 'RECENT', 'EXPUNGE', 'FETCH')
      if (name === 'FETCH' || name === 'EXPUNGE') {
        if (number === 0) this.fail('a number of a message')
      }
      if (name === 'FETCH') {
        this.sp()
        this.list(() => this.#fetched(), 1)
      }
      return
    }
    const name = this.take(/[A-Z]+/y, 'the name of a response')
    const rule = this.#responses[name]
    if (rule === undefined) this.fail('a response that is known')
    else rule()
  }

  readonly #responses: Readonly<Record<string, () => void>> = {
    ...Object.fromEntries(
      ['OK', 'NO', 'BAD', 'BYE', 'PREAUTH'].map(name => [name, () => this.spThen(this.#responseText)]),
    ),
    CAPABILITY: () => this.#capabilities(),
    ENABLED: () => this.each(() => this.atom()),
    FLAGS: () => this.spThen(() => this.list(() => this.#flag())),
    LIST: () => this.spThen(this.#listed),
    XLIST: () => this.spThen(this.#listed),
    LSUB: () => this.spThen(this.#listed),
    STATUS: () => this.spThen(this.#status),
    SEARCH: () => this.#numbers(),
    SORT: () => this.#numbers(),
    ESEARCH: () => this.#esearch(),
    THREAD: () => {
      if (this.accept(' '))
        do this.#thread()
        while (this.has('('))
    },
    VANISHED: () => {
      this.sp()
      if (this.accept('(EARLIER)')) this.sp()
      this.set()
    },
    NAMESPACE: () => {
      for (let n = 0; n < 3; n++) this.spThen(() => this.nilOr(() => this.#namespaces()))
    },
    QUOTA: () => {
      this.spThen(this.astring)
      this.spThen(() =>
        this.list(() => {
          this.atom()
          this.spThen(this.number64)
          this.spThen(this.number64)
        }),
      )
    },
    QUOTAROOT: () => {
      this.spThen(this.#mailbox)
      this.each(() => this.astring())
    },
    ID: () =>
      this.spThen(() =>
        this.nilOr(() =>
          this.list(() => {
            this.string()
            this.spThen(this.nstring)
          }),
        ),
      ),
  }

  /** resp-text */
  readonly #responseText = (): void => {
    if (this.accept('[')) {
      const name = this.take(/[A-Z0-9-]+/y, 'a code')
      if (codesOfOneNumber.has(name)) this.spThen(this.nz)
      else if (name === 'APPENDUID') {
        this.spThen(this.nz)
        this.spThen(this.set)
      } else if (name === 'COPYUID') {
        this.spThen(this.nz)
        this.spThen(this.set)
        this.spThen(this.set)
      } else if (name === 'CAPABILITY') this.#capabilities()
      else if (name === 'PERMANENTFLAGS') this.spThen(() => this.list(() => this.accept('\\*') || this.#flag()))
      else if (name === 'BADCHARSET') {
        if (this.accept(' ')) this.list(() => this.astring(), 1)
      } else if (name === 'MODIFIED') this.spThen(this.set)
      else if (name === 'MAILBOXID') this.spThen(() => this.list(() => this.#objectId(), 1))
      else if (name === 'BADEVENT') this.spThen(() => this.list(() => this.atom(), 1))
      else if (!codesAlone.has(name)) this.fail(`a code that is registered, not ${name}`)
      this.expect('] ')
    } else if (this.has('[')) this.fail('a code')
    this.take(this.enabled.utf8 ? /[^\x00\r\n]+/y : /[\x01-\x09\x0b\x0c\x0e-\x7f]+/y, 'text of 7 bits')
  }

  #capabilities(): void {
    const names: string[] = []
    this.each(() => names.push(this.atom()))
    if (!names.includes('IMAP4rev1') && !names.includes('IMAP4rev2')) this.fail('IMAP4rev1 or IMAP4rev2')
    if (new Set(names).size < names.length) this.fail('each capability once')
  }

  /** What stands in FETCH's parentheses. */
  #fetched(): void {
    const name = this.take(/[A-Z0-9.]+/y, 'an item of FETCH')
    if (name === 'BODY' && this.has('[')) {
      this.#section(true)
      this.spThen(this.nstring)
      return
    }
    if (name === 'BINARY' || name === 'BINARY.SIZE') {
      this.#section(false)
      this.spThen(name === 'BINARY' ? () => this.accept8() || this.nstring() : this.number)
      return
    }
    this.sp()
    const rule = this.#items[name]
    if (rule === undefined) this.fail('an item of FETCH that is known')
    else rule()
  }

  readonly #items: Readonly<Record<string, () => void>> = {
    UID: () => this.nz(),
    FLAGS: () => this.list(() => this.#flag()),
    MODSEQ: () => this.list(() => this.nz(), 1),
    INTERNALDATE: () => this.#moment(),
    SAVEDATE: () => this.nilOr(() => this.#moment()),
    ENVELOPE: () => this.#envelope(),
    BODY: () => this.#body(false),
    BODYSTRUCTURE: () => this.#body(true),
    'RFC822.SIZE': () => this.number64(),
    RFC822: () => this.nstring(),
    'RFC822.HEADER': () => this.nstring(),
    'RFC822.TEXT': () => this.nstring(),
    EMAILID: () => this.list(() => this.#objectId(), 1),
    THREADID: () => this.nilOr(() => this.list(() => this.#objectId(), 1)),
    PREVIEW: () => this.nstring(),
  }

  #section(texts: boolean): void {
    this.expect('[')
    const part = this.maybe(/[1-9]\d*(?:\.[1-9]\d*)*/y)
    if (texts && (part === undefined || this.has('.')) && !this.has(']')) {
      if (part !== undefined) this.expect('.')
      const name = this.take(/HEADER\.FIELDS(?:\.NOT)?|HEADER|TEXT|MIME/y, 'what of a part')
      if (name === 'MIME' && part === undefined) this.fail('MIME of a part')
      if (name.startsWith('HEADER.FIELDS')) this.spThen(() => this.list(() => this.astring(), 1))
    }
    this.expect(']')
    if (this.accept('<')) {
      this.number()
      this.expect('>')
    }
  }

  #envelope(): void {
    this.expect('(')
    this.nstring()
    this.spThen(this.nstring)
    for (let n = 0; n < 6; n++) this.spThen(() => this.nilOr(() => this.#addresses()))
    this.spThen(this.nstring)
    this.spThen(this.nstring)
    this.expect(')')
  }

  #addresses(): void {
    this.expect('(')
    do {
      this.expect('(')
      this.nstring()
      for (let n = 0; n < 3; n++) this.spThen(this.nstring)
      this.expect(')')
    } while (this.has('('))
    this.expect(')')
  }

  #body(extended: boolean): void {
    this.expect('(')
    if (this.has('(')) {
      do this.#body(extended)
      while (this.has('('))
      this.spThen(this.string)
      if (extended && this.accept(' ')) {
        this.#params()
        this.#extension()
      }
      this.expect(')')
      return
    }
    const type = this.string().toUpperCase()
    this.sp()
    const subtype = this.string().toUpperCase()
    this.spThen(this.#params)
    this.spThen(this.nstring)
    this.spThen(this.nstring)
    this.spThen(this.string)
    this.spThen(this.number)
    if (type === 'MESSAGE' && (subtype === 'RFC822' || (this.enabled.rev2 && subtype === 'GLOBAL'))) {
      this.spThen(() => this.#envelope())
      this.spThen(() => this.#body(extended))
      this.spThen(this.number)
    } else if (type === 'TEXT') this.spThen(this.number)
    if (extended && this.accept(' ')) {
      this.nstring()
      this.#extension()
    }
    this.expect(')')
  }

  /** Disposition, language and location, as far as they are there. */
  #extension(): void {
    if (!this.accept(' ')) return
    this.nilOr(() => {
      this.expect('(')
      this.string()
      this.spThen(this.#params)
      this.expect(')')
    })
    if (!this.accept(' ')) return
    if (this.has('(')) this.list(() => this.string(), 1)
    else this.nstring()
    if (this.accept(' ')) this.nstring()
  }

  readonly #params = (): void =>
    this.nilOr(() =>
      this.list(() => {
        this.string()
        this.spThen(this.string)
      }, 1),
    )

  readonly #listed = (): void => {
    this.list(() => this.take(/\\[A-Za-z]+/y, 'an attribute'))
    this.sp()
    this.nilOr(() => this.take(/"(?:[^"\\\r\n]|\\["\\])"/y, 'a separator'))
    this.spThen(this.#mailbox)
    if (this.accept(' '))
      this.list(() => {
        this.astring()
        this.spThen(() => (this.has('(') ? this.list(() => this.astring()) : this.set()))
      })
  }

  readonly #status = (): void => {
    this.#mailbox()
    this.spThen(() =>
      this.list(() => {
        const name = this.take(/[A-Z-]+/y, 'an item of STATUS')
        this.sp()
        if (name === 'MAILBOXID') this.list(() => this.#objectId(), 1)
        else if (name === 'APPENDLIMIT') this.nilOr(() => this.number())
        else if (!statusNumbers.has(name)) this.fail('an item of STATUS that is known')
        else if (name.startsWith('UID')) this.nz()
        else this.number64()
      }),
    )
  }

  #numbers(): void {
    while (this.accept(' ')) {
      if (this.accept('(MODSEQ ')) {
        this.nz()
        this.expect(')')
        return
      }
      this.nz()
    }
  }

  #esearch(): void {
    if (this.accept(' (TAG ')) {
      this.string()
      this.expect(')')
    }
    this.accept(' UID')
    while (this.accept(' ')) {
      const name = this.word('MIN', 'MAX', 'ALL', 'COUNT', 'MODSEQ')
      this.spThen(name === 'ALL' ? this.set : name === 'COUNT' ? this.number : this.nz)
    }
  }

  /** thread-list */
  #thread(): void {
    this.expect('(')
    if (!this.has('(')) {
      this.nz()
      while (this.is(/ \d/y)) this.spThen(this.nz)
      if (this.accept(' ')) this.#threads()
    } else this.#threads()
    this.expect(')')
  }

  #threads(): void {
    let count = 0
    for (; this.has('('); count++) this.#thread()
    if (count < 2) this.fail('two threads')
  }

  #namespaces(): void {
    this.expect('(')
    do {
      this.expect('(')
      this.string()
      this.spThen(() => this.nilOr(() => this.take(/"(?:[^"\\\r\n]|\\["\\])"/y, 'a separator')))
      this.expect(')')
    } while (this.has('('))
    this.expect(')')
  }

  readonly #mailbox = (): void => {
    const name = this.astring()
    if (!this.enabled.utf8 && /&(?![A-Za-z0-9+,]*-)/.test(name)) this.fail('a name in modified UTF-7')
  }

  #flag(): void {
    this.accept('\\')
    this.atom()
  }

  #moment(): void {
    const form =
      /"(?: \d|\d\d)-(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)-\d{4} (?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60) [+-]\d{4}"/y
    this.take(form, 'a date and time')
  }

  #objectId(): void {
    this.take(/[A-Za-z0-9_-]{1,255}/y, 'an object id')
  }
}
