// Seals the passwords of relays, forwarding targets and webhooks that an earlier version stored in clear.
//
// Done once, when a data directory is opened and before any actor has a row in memory: page by page, each page one unit,
// and from the start again where it was cut off. Later openings look at one row.

import { limits } from '#lib/limits.ts'
import { isClear, type UrlSecrets } from '#lib/secret/url-secret.ts'
import { metaPut } from '#store/engine/meta.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Write } from '#store/engine/write.ts'
import {
  areUrlsSealed,
  type UrlPlace,
  type UrlReplaceRow,
  urlPlaces,
  urlReplace,
  valuesWithUrls,
} from '#store/upkeep/clear-urls.ts'

export interface UrlSealing {
  readonly read: Reader
  readonly write: <Row>(write: Write<Row>, row: Row) => Promise<void>
  readonly secrets: UrlSecrets
}

/** Seals what is not sealed yet. Answers when all of it is on disk. */
export async function sealUrls(options: UrlSealing): Promise<void> {
  const { read, write } = options
  if (await areUrlsSealed(read)) return
  for (const place of Object.keys(urlPlaces) as UrlPlace[]) await sealPlace(options, place)
  await write(metaPut, { key: 'urls.sealed', value: 1 })
}

async function sealPlace({ read, write, secrets }: UrlSealing, place: UrlPlace): Promise<void> {
  const textKeys = place === 'address' || place === 'target'
  for (let after: number | string | undefined = textKeys ? '' : 0; after !== undefined; ) {
    const page = await valuesWithUrls(read, place, after, limits.seal.pageRows)
    const rows: UrlReplaceRow['rows'][number][] = []
    for (const { key, value } of page) {
      const sealed = await sealValue(secrets, place, value)
      if (sealed !== value) rows.push([key, value, sealed])
    }
    if (rows.length > 0) await write(urlReplace, { place, rows })
    after = page.length < limits.seal.pageRows ? undefined : page.at(-1)?.key
  }
}

/** A stored value with what is secret in its URLs sealed. */
async function sealValue(secrets: UrlSecrets, place: UrlPlace, value: string): Promise<string> {
  const where = urlPlaces[place]
  if (!('paths' in where)) return isClear(value) ? secrets.seal(value) : value
  const json = JSON.parse(value) as Record<string, unknown>
  return (await sealFields(secrets, json, where.paths)) ? JSON.stringify(json) : value
}

/** Seals the URLs in fields of an object, each a text or a list of them; whether there was anything to do. */
async function sealFields(
  secrets: UrlSecrets,
  json: Record<string, unknown>,
  fields: readonly string[],
): Promise<boolean> {
  let changed = false
  const sealed = async (url: unknown) => {
    if (typeof url !== 'string' || !isClear(url)) return url
    changed = true
    return secrets.seal(url)
  }
  for (const field of fields) {
    const value = json[field]
    if (value === undefined) continue
    json[field] = Array.isArray(value) ? await Promise.all(value.map(sealed)) : await sealed(value)
  }
  return changed
}
