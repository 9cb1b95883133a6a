// The session of the page: a cookie that holds an access token, and when it counts.
//
// A browser sends a cookie whoever asks it to, so one counts only for what our own page sent: the browser says so in
// Sec-Fetch-Site, or, where it knows no such thing, in Origin; and a header that neither a form nor a picture can have, and no other
// origin is allowed by guard/cors.ts, says it once more. Only what is opened to be shown or kept (a GET of bytes or events) does without that
// header: a picture in a letter, which a frame of our own origin fetches, calls nothing else.
// Scripts cannot read the cookie, other sites do not send it (SameSite), and over TLS no other host can set it (`__Host-`).

/** Reads a header in lower case; '' for none. */
type Header = (name: string) => string

/** What the page's own calls have, `1`. */
export const pageHeader = 'x-teal-page'

/** Headers that `pageToken` and `isOwnPage` read. */
export const pageHeaders = ['cookie', 'host', 'origin', 'sec-fetch-site', pageHeader] as const

const overTls = '__Host-teal'
const inClear = 'teal'
/** Behind the name: of the one in whose place somebody acts for a while. */
const actingSuffix = '-as'

/** Whether our own page sent this, as far as a browser tells. @param opens the answer is none that only a program reads */
export function isOwnPage(header: Header, method: string, opens = false): boolean {
  const site = header('sec-fetch-site').toLowerCase()
  const origin = header('origin')
  // A proxy may have changed the host; what the browser says itself nobody has.
  if (site === '' && origin !== '' && hostOf(origin) !== header('host').toLowerCase()) return false
  if (site !== '' && site !== 'same-origin') return false
  if (header(pageHeader) !== '1') return opens && method === 'GET' && site === 'same-origin'
  // Each browser says where a call that may change something comes from.
  return method === 'GET' || site !== '' || origin !== ''
}

/** What the cookies of our own page hold; '' for what is not there, or does not count. */
export interface PageTokens {
  /** The session's own access token. */
  readonly own: string
  /** The token of the user as whom the session acts. */
  readonly acting: string
}

type Asked = { readonly method: string; readonly secure: boolean; readonly opens?: boolean }

export function pageTokens(header: Header, { method, secure, opens }: Asked): PageTokens {
  const line = header('cookie')
  if (line === '' || !isOwnPage(header, method, opens)) return { own: '', acting: '' }
  const cookies = new Map<string, string>()
  for (const pair of line.split(';')) {
    const at = pair.indexOf('=')
    if (at > 0) cookies.set(pair.slice(0, at).trim(), pair.slice(at + 1).trim())
  }
  const name = secure ? overTls : inClear
  const own = cookies.get(name) ?? ''
  // Nobody acts as a user without a session to come back to.
  return { own, acting: own === '' ? '' : (cookies.get(name + actingSuffix) ?? '') }
}

/** Whether a browser that opens the page holds a cookie of a session, whatever that is worth. */
export function mayHaveSession(header: Header): boolean {
  return eitherCookie.test(header('cookie'))
}

const eitherCookie = new RegExp(`(?:^|;)\\s*(?:${overTls}|${inClear})=[^;\\s]`)

/** The access token of the page's session; '' where there is none, or where it does not count. */
export function pageToken(header: Header, asked: Asked): string {
  const { own, acting } = pageTokens(header, asked)
  return acting === '' ? own : acting
}

/**
 * Value of a Set-Cookie that begins a session, or ends it where `token` is empty.
 *
 * @param secure whether the browser speaks TLS
 * @param keepMs how long the browser keeps it; absent: until it is closed
 */
export function sessionCookie(token: string, secure: boolean, keepMs?: number): string {
  const age = token === '' ? '; Max-Age=0' : keepMs === undefined ? '' : `; Max-Age=${Math.floor(keepMs / 1000)}`
  const name = secure ? overTls : inClear
  return `${name}=${token}; Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}${age}`
}

/** The same for acting as a user, which the browser forgets when it is closed; the session itself stays as it is. */
export function actingCookie(token: string, secure: boolean): string {
  return sessionCookie(token, secure).replace('=', `${actingSuffix}=`)
}

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : ''
}
