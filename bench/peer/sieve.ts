// Rules as Sieve says them (RFC 5228), so that a peer is measured with what the service's filters do.

/**
 * A script of one `if` for each query, which flags the message, as the filters do that are held against it. Expressions
 * become POSIX ones (draft-murchison-sieve-regex); a Sieve comparison ignores case by itself.
 */
export function sieveScript(queries: readonly Readonly<Record<string, string>>[]): string {
  const tests = queries.map(query => Object.entries(query).map(([field, value]) => condition(field, value)))
  const rules = tests.map(all => `if allof(${all.join(', ')}) { addflag "\\\\Flagged"; }`)
  return `require ["regex", "imap4flags"];\n${rules.join('\n')}\n`
}

const headers: Readonly<Record<string, string>> = {
  from: '["from", "sender"]',
  to: '["to", "cc", "delivered-to"]',
  subject: '"subject"',
  listId: '"list-id"',
}

function condition(field: string, value: string): string {
  const header = headers[field] ?? '"subject"'
  const source = /^\/(.*)\/[imsu]*$/.exec(value)?.[1]
  const kind = source === undefined ? 'contains' : 'regex'
  const text = source === undefined ? value : source.replaceAll('\\d', '[0-9]').replaceAll('(?:', '(')
  return `header :${kind} ${header} "${text.replace(/(["\\])/g, '\\$1')}"`
}
