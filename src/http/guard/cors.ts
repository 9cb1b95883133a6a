// What browsers are told about calls from other origins (api-semantics 1.9).
//
// Access from another origin needs a token in a header or the query. The page's cookie (session.ts) counts for our own origin alone:
// the header that goes with it is not among those allowed here, so an origin that may call gains nothing by itself.

import { headerText } from '../wire.ts'

export interface Cors {
  /** Origins that may call; `*` for all. */
  readonly origins: readonly string[]
}

const vary = headerText('Vary', 'origin,access-control-request-method,access-control-request-headers')

const exposed = headerText(
  'Access-Control-Expose-Headers',
  'api-version,content-length,content-md5,content-type,date,request-id,response-time',
)

const allowed = headerText(
  'Access-Control-Allow-Headers',
  'X-Access-Token,Authorization,accept,accept-version,content-type,request-id,origin,x-api-version,x-request-id,x-requested-with',
)

const originPattern = /^[\x21-\x7e]{1,512}$/

/** Headers for the answer to a call from `origin`; '' where it may not know. */
export function corsHead(cors: Cors, origin: string): string {
  return may(cors, origin) ? headerText('Access-Control-Allow-Origin', origin) + vary + exposed : ''
}

/** Headers of the answer to a preflight beside those of `corsHead`, or null where the request is none. */
export function preflightHead(cors: Cors, origin: string, method: string): string | null {
  if (origin === '' || !/^[A-Za-z]{1,32}$/.test(method) || !may(cors, origin)) return null
  return (
    headerText('Access-Control-Allow-Methods', `${method},OPTIONS`) +
    headerText('Access-Control-Allow-Credentials', 'true') +
    allowed
  )
}

function may(cors: Cors, origin: string): boolean {
  return originPattern.test(origin) && (cors.origins.includes('*') || cors.origins.includes(origin))
}
