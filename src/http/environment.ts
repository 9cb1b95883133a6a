// Settings that uWebSockets.js reads from the environment while it is loaded; import this before it.

import { limits } from '#lib/limits.ts'

process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(limits.http.headerBytesMax)
