// What an admin should look at first: backups, certificates, the disk, accounts that are held back. Where all is well it says so.
//
// It asks few questions, once when the page is shown, and only those that this session may ask. Each finding leads to the page where it is mended.

import { call } from '../base/client.ts'
import { Icon } from '../base/icon.tsx'
import { number, percent, relative } from '../base/language.ts'
import { Card } from '../base/parts.tsx'
import { useResource } from '../base/resource.ts'
import { at } from '../base/router.ts'
import { may } from '../base/session.ts'
import { adminTexts } from './texts/texts.ts'

interface Finding {
  readonly text: string
  readonly place: string
}

const dayMs = 86_400_000
const endsSoonDays = 14
const diskFullPart = 0.9
/** Of those that come by themselves two may fail. */
const backupsMissed = 3
const shownMax = 5

export function Attention() {
  const { overview: texts } = adminTexts.value
  const found = useResource(lookAround, 'attention')
  if (found.data === undefined) return null
  if (found.data.length === 0) {
    return (
      <p class="callout">
        <Icon name="check" />
        {texts.fine}
      </p>
    )
  }
  return (
    <Card title={texts.attention}>
      <ul class="lines">
        {found.data.map(({ text, place }) => (
          <li key={text}>
            <a href={at(place)}>{text}</a>
          </li>
        ))}
      </ul>
    </Card>
  )
}

async function lookAround(signal: AbortSignal): Promise<Finding[]> {
  const looks = [
    may('backups.read', 'any') && backups(signal),
    may('certs.read', 'any') && certificates(signal),
    may('figures.read', 'any') && disk(signal),
    may('queue.read', 'any') && paused(signal),
  ]
  return (await Promise.all(looks.filter(look => look !== false))).flat()
}

async function backups(signal: AbortSignal): Promise<Finding[]> {
  const { overview: texts } = adminTexts.value
  const { enabled, every, failed, results } = await call('GET /backups', { signal })
  const place = '/service/backups'
  if (!enabled) return [{ text: texts.backupNone, place }]
  if (failed !== undefined) return [{ text: texts.backupFailed(failed.reason), place }]
  const [newest] = results
  const isOld = newest !== undefined && newest.age > backupsMissed * every
  return isOld ? [{ text: texts.backupOld(relative(newest.created)), place }] : []
}

async function certificates(signal: AbortSignal): Promise<Finding[]> {
  const { overview: texts } = adminTexts.value
  const { results } = await call('GET /certs', { query: { limit: 250 }, signal })
  const place = '/service/certificates'
  return results
    .flatMap(({ servername, expires, fetching }) => {
      if (fetching?.failure !== undefined)
        return [{ text: texts.certificateFailed(servername, fetching.failure), place }]
      const isSoon = expires !== undefined && Date.parse(expires) - Date.now() < endsSoonDays * dayMs
      return isSoon ? [{ text: texts.certificateEnds(servername, relative(expires)), place }] : []
    })
    .slice(0, shownMax)
}

async function disk(signal: AbortSignal): Promise<Finding[]> {
  const { overview: texts } = adminTexts.value
  const from = new Date(Date.now() - 600_000).toISOString()
  const { columns } = await call('GET /figures', { query: { from, step: 60 }, signal })
  const free = columns.diskFree.findLast(value => value !== null)
  const all = columns.disk.findLast(value => value !== null)
  if (free == null || all == null || all === 0 || 1 - free / all < diskFullPart) return []
  return [{ text: texts.diskFull(percent(1 - free / all)), place: '/service' }]
}

async function paused(signal: AbortSignal): Promise<Finding[]> {
  const { results } = await call('GET /outbound/paused', { signal })
  if (results.length === 0) return []
  return [{ text: adminTexts.value.overview.paused(number(results.length)), place: '/service/queue' }]
}
