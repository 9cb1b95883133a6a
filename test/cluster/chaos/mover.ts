// Somebody at work in an account: sets flags, moves, expunges and appends, one thing after the other, and knows what each was
// answered. Only messages that are there once for certain are touched.

import { sleep } from '#lib/clock.ts'
import { Imap, isLater, messageText, Refused } from './clients.ts'
import type { Account, Mail } from './journal.ts'
import type { Load } from './load.ts'

const flags = ['\\Flagged', '\\Answered', '$one', '$two']

export class Mover {
  readonly #load: Load
  readonly #account: Account
  #validity = ''
  #last = 0
  readonly #uidOf = new Map<string, number>()
  #number = 0

  constructor(load: Load, account: Account) {
    this.#load = load
    this.#account = account
  }

  async run(): Promise<void> {
    const { journal } = this.#load
    while (!this.#load.stopped) {
      let imap: Imap | undefined
      try {
        imap = await this.#enter()
        while (!this.#load.stopped) {
          await this.#step(imap)
          await this.#load.pause()
        }
      } catch (error) {
        journal.failed('session', String(error))
        if (!isLater(error)) journal.found.push(`${this.#account.name}: ${error}`)
        await sleep(100)
      } finally {
        imap?.close()
      }
    }
  }

  async #enter(): Promise<Imap> {
    const imap = await Imap.login(await this.#load.node(), this.#account.name)
    try {
      await imap.make('Moved')
      const lines = await imap.ok('select INBOX')
      this.#validity = /UIDVALIDITY (\d+)/.exec(lines.join(' '))?.[1] ?? ''
      return imap
    } catch (error) {
      imap.close()
      throw error
    }
  }

  async #step(imap: Imap): Promise<void> {
    await this.#learn(imap)
    const what = this.#load.random()
    if (what < 0.2) return await this.#append(imap)
    const candidates = [...this.#uidOf].filter(([mid]) => {
      const mail = this.#account.mails.get(mid)
      return mail?.acked !== undefined && mail.doubts === 0 && mail.places.size === 1 && mail.places.has('INBOX')
    })
    const [mid, uid] = candidates[Math.floor(this.#load.random() * candidates.length)] ?? ['', 0]
    const mail = this.#account.mails.get(mid)
    if (mail === undefined) return
    if (what < 0.7) await this.#flag(imap, mail, uid)
    else if (what < 0.85) await this.#move(imap, mail, uid)
    else await this.#expunge(imap, mail, uid)
  }

  async #learn(imap: Imap): Promise<void> {
    for (const line of await imap.ok(`uid fetch ${this.#last + 1}:* (envelope)`)) {
      const [, uid, mid] = /UID (\d+).*"<([^"@]+)@example.org>"\)/.exec(line) ?? []
      if (uid === undefined || mid === undefined) continue
      this.#account.saw('INBOX', this.#validity, Number(uid), mid)
      this.#uidOf.set(mid, Number(uid))
      this.#last = Math.max(this.#last, Number(uid))
    }
  }

  async #flag(imap: Imap, mail: Mail, uid: number): Promise<void> {
    const flag = flags[Math.floor(this.#load.random() * flags.length)] ?? ''
    const on = this.#load.random() < 0.7
    mail.flags.set(flag, undefined)
    await this.#tried(imap, 'flag', `uid store ${uid} ${on ? '+' : '-'}FLAGS (${flag})`)
    mail.flags.set(flag, on)
  }

  async #move(imap: Imap, mail: Mail, uid: number): Promise<void> {
    mail.places = new Set(['INBOX', 'Moved'])
    const lines = await this.#tried(imap, 'move', `uid move ${uid} Moved`)
    const [, validity, , now] = /COPYUID (\d+) (\d+) (\d+)/.exec(lines.join(' ')) ?? []
    if (validity === undefined) throw new Refused(`${mail.mid} was not there to be moved`)
    mail.places = new Set(['Moved'])
    this.#account.saw('Moved', validity, Number(now), mail.mid)
  }

  async #expunge(imap: Imap, mail: Mail, uid: number): Promise<void> {
    mail.places = new Set(['INBOX', 'gone'])
    await this.#tried(imap, 'expunge', `uid store ${uid} +FLAGS (\\Deleted)`)
    await this.#tried(imap, 'expunge', `uid expunge ${uid}`)
    mail.places = new Set(['gone'])
  }

  async #append(imap: Imap): Promise<void> {
    this.#number += 1
    const mid = `a-${this.#load.round}-${this.#number}`
    const mail = this.#account.mail(mid, 'appended')
    mail.doubts = 1
    const last = (await imap.append('INBOX', messageText(mid, 10))).at(-1) ?? ''
    if (!/^\S+ OK/.test(last)) throw new Refused(last)
    mail.doubts = 0
    this.#load.journal.count('append')
    this.#account.acknowledged(mail, 0)
    const [, validity = '', uid] = /APPENDUID (\d+) (\d+)/.exec(last) ?? []
    this.#account.saw('INBOX', validity, Number(uid), mid)
  }

  async #tried(imap: Imap, what: string, command: string): Promise<string[]> {
    const lines = await imap.ok(command)
    this.#load.journal.count(what)
    return lines
  }
}
