// Mailbox paths: their form, their order, the special ones and what those are called in the user's language.
//
// Promises: a path that `checkPath` gave back is in NFC, has `/` between its parts, no empty part, INBOX in upper case
// at its start, and no control character or separator of lines. Refusals carry the exact texts that existing clients compare.

import { Fault, invalid } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'

export type SpecialUse = '\\Sent' | '\\Trash' | '\\Drafts' | '\\Junk' | '\\Archive'

const inbox = 'INBOX'

/** What no name may hold, besides (RFC 6855 3): a program that asked for UTF-8 need not take it. */
const unnamed = /[\x80-\x9f\u2028\u2029]/g

/**
 * `path` in the form it is stored in; a leading slash is dropped.
 * @throws Fault InputValidationError, texts of wire-details 1
 */
export function checkPath(path: string, field = 'path'): string {
  const problem = pathProblem(path)
  if (problem === undefined) return normalizePath(path)
  throw isSentence(problem) ? refused(problem) : invalid(field, problem)
}

const sentences = new Set([
  `The mailbox path cannot be more than ${limits.name.mailboxDepthMax} levels deep`,
  `Any part of the mailbox path cannot be longer than ${limits.name.mailboxPartLengthMax} chars long`,
])

/** Whether a problem is told as it is, without the name of the field. */
export function isSentence(problem: string): boolean {
  return sentences.has(problem)
}

/** What is wrong with a path, in the words clients compare; undefined when nothing is. */
export function pathProblem(path: string): string | undefined {
  if (path === '') return 'is not allowed to be empty'
  if (/\/{2}|\/$/.test(path)) return `with value "${path}" matches the inverted pattern: /\\/{2,}|\\/$/`
  const hasOthers = /[\x00-\x1f\x7f]/.test(path) || path.search(unnamed) !== -1 || !path.isWellFormed()
  if (hasOthers) return 'contains characters that are not allowed'
  const parts = normalizePath(path).split('/')
  const [tooDeep, tooLong] = sentences
  if (parts.length > limits.name.mailboxDepthMax) return tooDeep
  return parts.some(part => part.length > limits.name.mailboxPartLengthMax) ? tooLong : undefined
}

/** A path in its stored form: NFC, no leading slash, INBOX in capitals. */
export function normalizePath(path: string): string {
  const parts = path.normalize('NFC').replace(/^\//, '').split('/')
  if (parts[0]?.toUpperCase() === inbox) parts[0] = inbox
  return parts.join('/')
}

/** The path under which another service's folder is taken in: some programs of old wrote bytes of Windows-1252 as if they were Latin-1. */
export function takenPath(path: string): string {
  return path.replace(unnamed, '_')
}

/** What of a path is kept when its folder, or a message in it, is gone: all of it or nothing. */
export function keptPath(path: string): string {
  return path.length > limits.mailbox.keptPathLengthMax ? '' : path
}

/** The last part of a path. */
export function pathName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** The path without its last part, or null at the top. */
export function pathParent(path: string): string | null {
  const slash = path.lastIndexOf('/')
  return slash < 0 ? null : path.slice(0, slash)
}

/** Where `path` ends up when `from` is renamed to `to`: itself where it is neither `from` nor below it. */
export function renamedPath(path: string, from: string, to: string): string {
  if (path === from) return to
  return path.startsWith(`${from}/`) ? to + path.slice(from.length) : path
}

const collator = new Intl.Collator('en', { sensitivity: 'accent', numeric: false })

/** Order of listings (wire-details 5): INBOX, what is in it, subscribed before unsubscribed, then by name. */
export function comparePaths(
  a: { readonly path: string; readonly subscribed: boolean },
  b: { readonly path: string; readonly subscribed: boolean },
): number {
  const byInbox = inboxRank(a.path) - inboxRank(b.path)
  if (byInbox !== 0) return byInbox
  if (a.subscribed !== b.subscribed) return a.subscribed ? -1 : 1
  return collator.compare(a.path, b.path) || (a.path < b.path ? -1 : a.path > b.path ? 1 : 0)
}

function inboxRank(path: string): number {
  if (path === inbox) return 0
  return path.startsWith(`${inbox}/`) ? 1 : 2
}

function refused(text: string): Fault {
  return new Fault('InputValidationError', { text, details: { path: text } })
}

// ---- Special use

export interface DefaultMailbox {
  readonly path: string
  readonly specialUse: SpecialUse | null
}

/** What a new account starts with, in this order (api-semantics 10.6); names in `language` (`et`, `pt_BR`), else English. */
export function defaultMailboxes(language = 'en', names: Partial<Record<DefaultName, string>> = {}): DefaultMailbox[] {
  const code = language.toLowerCase().split(/[_-]/, 1)[0] as string
  const [sent, trash, drafts, junk] = Object.hasOwn(translations, code)
    ? (translations[code] as Names)
    : (translations.en as Names)
  return [
    { path: inbox, specialUse: null },
    { path: names.sent || sent, specialUse: '\\Sent' },
    { path: names.trash || trash, specialUse: '\\Trash' },
    { path: names.drafts || drafts, specialUse: '\\Drafts' },
    { path: names.junk || junk, specialUse: '\\Junk' },
  ]
}

export type DefaultName = 'sent' | 'trash' | 'drafts' | 'junk'

/** Languages that `defaultMailboxes` knows. */
export function mailboxLanguages(): string[] {
  return Object.keys(translations)
}

type Names = readonly [sent: string, trash: string, drafts: string, junk: string]

const translations: Readonly<Record<string, Names>> = {
  ar: ['البريد المرسل', 'المهملات', 'المسودات', 'البريد المزعج'],
  bg: ['Изпратени', 'Кошче', 'Чернови', 'Нежелана поща'],
  ca: ['Enviats', 'Paperera', 'Esborranys', 'Correu brossa'],
  cs: ['Odeslaná pošta', 'Koš', 'Koncepty', 'Nevyžádaná pošta'],
  da: ['Sendt post', 'Papirkurv', 'Kladder', 'Uønsket post'],
  de: ['Gesendet', 'Papierkorb', 'Entwürfe', 'Spam'],
  el: ['Απεσταλμένα', 'Κάδος', 'Πρόχειρα', 'Ανεπιθύμητα'],
  en: ['Sent Mail', 'Trash', 'Drafts', 'Junk'],
  es: ['Enviados', 'Papelera', 'Borradores', 'Correo no deseado'],
  et: ['Saadetud kirjad', 'Prügikast', 'Mustandid', 'Rämpspost'],
  eu: ['Bidalita', 'Zakarrontzia', 'Zirriborroak', 'Zabor-posta'],
  fa: ['ارسال‌شده', 'زباله‌دان', 'پیش‌نویس‌ها', 'هرزنامه'],
  fi: ['Lähetetyt', 'Roskakori', 'Luonnokset', 'Roskaposti'],
  fr: ['Messages envoyés', 'Corbeille', 'Brouillons', 'Indésirables'],
  ga: ['Seolta', 'Bruscar', 'Dréachtaí', 'Turscar'],
  gl: ['Enviados', 'Lixo', 'Borradores', 'Correo lixo'],
  he: ['דואר שנשלח', 'אשפה', 'טיוטות', 'דואר זבל'],
  hi: ['भेजे गए', 'कूड़ेदान', 'ड्राफ़्ट', 'स्पैम'],
  hr: ['Poslano', 'Smeće', 'Skice', 'Neželjena pošta'],
  hu: ['Elküldött', 'Kuka', 'Piszkozatok', 'Levélszemét'],
  id: ['Terkirim', 'Sampah', 'Konsep', 'Spam'],
  is: ['Sendur póstur', 'Rusl', 'Drög', 'Ruslpóstur'],
  it: ['Posta inviata', 'Cestino', 'Bozze', 'Posta indesiderata'],
  ja: ['送信済み', 'ゴミ箱', '下書き', '迷惑メール'],
  ko: ['보낸 편지함', '휴지통', '임시 보관함', '스팸'],
  lt: ['Išsiųsti', 'Šiukšliadėžė', 'Juodraščiai', 'Šlamštas'],
  lv: ['Nosūtītās', 'Atkritne', 'Melnraksti', 'Mēstules'],
  nb: ['Sendt', 'Papirkurv', 'Utkast', 'Søppelpost'],
  nl: ['Verzonden', 'Prullenbak', 'Concepten', 'Ongewenste e-mail'],
  nn: ['Sendt', 'Papirkorg', 'Utkast', 'Søppelpost'],
  no: ['Sendt', 'Papirkurv', 'Utkast', 'Søppelpost'],
  pl: ['Wysłane', 'Kosz', 'Szkice', 'Niechciane'],
  pt: ['Enviados', 'Lixeira', 'Rascunhos', 'Lixo eletrónico'],
  ro: ['Trimise', 'Coș de gunoi', 'Ciorne', 'Nedorite'],
  ru: ['Отправленные', 'Корзина', 'Черновики', 'Спам'],
  sk: ['Odoslaná pošta', 'Kôš', 'Koncepty', 'Nevyžiadaná pošta'],
  sl: ['Poslano', 'Smeti', 'Osnutki', 'Neželena pošta'],
  sr: ['Послато', 'Отпад', 'Нацрти', 'Нежељена пошта'],
  sv: ['Skickat', 'Papperskorg', 'Utkast', 'Skräppost'],
  th: ['ส่งแล้ว', 'ถังขยะ', 'ฉบับร่าง', 'จดหมายขยะ'],
  tr: ['Gönderilenler', 'Çöp kutusu', 'Taslaklar', 'İstenmeyen'],
  uk: ['Надіслані', 'Кошик', 'Чернетки', 'Спам'],
  vi: ['Thư đã gửi', 'Thùng rác', 'Thư nháp', 'Thư rác'],
  zh: ['已发送', '已删除', '草稿', '垃圾邮件'],
}

// ---- Names on the wire of IMAP4rev1

/** A path in modified UTF-7 (RFC 3501 5.1.3). */
export function encodeUtf7(path: string): string {
  return path.replace(/&|[^\x20-\x7e]+/g, run => {
    if (run === '&') return '&-'
    const bytes = Buffer.from(run, 'utf16le').swap16()
    return `&${bytes.toString('base64').replaceAll('/', ',').replace(/=+$/, '')}-`
  })
}

/** The path of a name in modified UTF-7, or null where it is not well formed (RFC 3501 5.1.3 has one way to write each). */
export function decodeUtf7(name: string): string | null {
  if (!/^[\x20-\x7e]*$/.test(name)) return null
  if (!name.includes('&')) return name
  let valid = true
  const path = name.replace(/&([^-]*)(-?)/g, (_, run: string, end: string) => {
    if (end === '') valid = false
    if (run === '') return '&'
    const bytes = Buffer.from(run.replaceAll(',', '/'), 'base64')
    if (bytes.length === 0 || bytes.length % 2 !== 0) valid = false
    return valid ? bytes.swap16().toString('utf16le') : ''
  })
  return valid && path.isWellFormed() && encodeUtf7(path) === name ? path : null
}
