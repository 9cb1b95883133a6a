// What a browser keeps of the page, as tests see it: caches of the worker and entries of the page's store.

import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** Names of caches, and keys of what is kept for when there is no network. */
export function keptIn(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(async () => {
    const names = (await caches.keys()).filter(name => name.startsWith('teal.'))
    if (!(await indexedDB.databases()).some(one => one.name === 'teal')) return names
    return new Promise((resolve, reject) => {
      const opening = indexedDB.open('teal')
      opening.onerror = () => reject(opening.error)
      opening.onsuccess = () => {
        const database = opening.result
        const asked = database.transaction('kept').objectStore('kept').getAllKeys()
        asked.onsuccess = () => {
          database.close()
          resolve([...names, ...asked.result])
        }
      }
    })
  })()`)
}

/** Waits until the browser has the page itself, and something whose name begins so. */
export async function isKept(page: Page, name: string): Promise<void> {
  const cached = `Promise.all([
    navigator.serviceWorker.controller !== null,
    caches.keys().then(async names => {
      const [own] = names.filter(one => one.startsWith('teal.page.'))
      return own !== undefined && (await (await caches.open(own)).match('/app')) !== undefined
    }),
  ]).then(all => all.every(Boolean))`
  await expect.poll(() => page.evaluate(cached)).toBe(true)
  await expect.poll(async () => (await keptIn(page)).some(key => key.includes(` ${name}`))).toBe(true)
}

/** Names of the files that are kept until the service has them. */
export function filesKept(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`new Promise((resolve, reject) => {
    const opening = indexedDB.open('teal')
    opening.onerror = () => reject(opening.error)
    opening.onsuccess = () => {
      const database = opening.result
      const asked = database.transaction('files').objectStore('files').getAll()
      asked.onsuccess = () => {
        database.close()
        resolve(asked.result.map(one => one.file.name))
      }
    }
  })`)
}
