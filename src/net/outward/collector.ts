// Posts spans to a collector of OpenTelemetry (OTLP/HTTP in JSON).
//
// Promises: bounded in time, and in what is read of the answer. Goes where the owner's configuration says and nowhere else: a
// redirect is a failure.

import { limits } from '#lib/limits.ts'
import { plainHttp, secureHttp } from '#lib/process/lazy.ts'

/** @returns how many spans the collector refused. @throws Error where it did not take them */
export function postSpans(endpoint: string, authorization: string, text: string): Promise<number> {
  const url = new URL(endpoint)
  const { postMs, answerBytesMax } = limits.tracing
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...(authorization !== '' && { authorization }),
  }
  return new Promise((resolve, reject) => {
    const how = { method: 'POST', agent: false, headers, signal: AbortSignal.timeout(postMs) } as const
    const request = (url.protocol === 'https:' ? secureHttp() : plainHttp()).request(url, how)
    request.on('error', reject)
    request.on('response', response => {
      const { statusCode = 0 } = response
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes <= answerBytesMax) chunks.push(chunk)
        else request.destroy(new Error('The collector answered too much'))
      })
      response.on('error', reject)
      response.on('end', () => {
        if (statusCode >= 200 && statusCode < 300) resolve(refusedOf(Buffer.concat(chunks).toString()))
        else reject(new Error(`The collector answered ${statusCode}`))
      })
    })
    request.end(text)
  })
}

/** A part may be refused (OTLP, Partial Success); an answer that says nothing refuses nothing. */
function refusedOf(text: string): number {
  try {
    const { partialSuccess } = JSON.parse(text) as { partialSuccess?: { rejectedSpans?: unknown } }
    const count = Number(partialSuccess?.rejectedSpans ?? 0)
    return Number.isSafeInteger(count) && count > 0 ? count : 0
  } catch {
    return 0
  }
}
