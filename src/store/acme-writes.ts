// Writes of what ACME needs to remember: accounts, and how far the fetching of each certificate is.

import { defineWrite } from './write.ts'

export interface AcmeAccountRow {
  readonly directory: string
  /** Private key, sealed. */
  readonly key: string
  /** Null until the server knows it. */
  readonly url: string | null
}

export interface AcmeProgressRow {
  /** Id of the certificate. */
  readonly certificate: string
  /** When it is tried next. */
  readonly due: number
  /** End of the certificate that `due` was planned by; null where there was none. */
  readonly expires: number | null
  /** Failures in a row, an attempt that is under way included. */
  readonly attempts: number
  /** Why the last attempt failed; null after none and while one is under way. */
  readonly failure: string | null
}

/** An order under way: whose it is, its address, and the key that its certificate is for, sealed. All or none. */
export interface AcmeOrderRow {
  readonly certificate: string
  readonly directory: string | null
  readonly url: string | null
  readonly key: string | null
}

/** Keeps an account; a server has one. */
export const acmeAccountPut = defineWrite<AcmeAccountRow>('acme.account', (sql, row) => {
  sql(`INSERT INTO acme_account (directory, key, url) VALUES (@directory, @key, @url)
    ON CONFLICT (directory) DO UPDATE SET key = @key, url = @url`).run(row)
})

/** Keeps when a certificate is due and how it went, unless it was deleted meanwhile. */
export const acmeProgressPut = defineWrite<AcmeProgressRow>('acme.progress', (sql, row) => {
  sql(`INSERT INTO acme_order (certificate, due, expires, attempts, failure)
    SELECT @certificate, @due, @expires, @attempts, @failure
      WHERE EXISTS (SELECT 1 FROM certificate WHERE id = @certificate)
    ON CONFLICT (certificate) DO UPDATE SET due = @due, expires = @expires, attempts = @attempts, failure = @failure`).run(
    row,
  )
})

/** Keeps the order of a certificate that has progress. */
export const acmeOrderPut = defineWrite<AcmeOrderRow>('acme.order', (sql, row) => {
  sql('UPDATE acme_order SET directory = @directory, url = @url, key = @key WHERE certificate = @certificate').run(row)
})
