// What is an address of a database, and what may be shown of one.

/** Whether a database lies behind an address; else it is a file. */
export function isAddress(database: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(database)
}

/** Where it is, without the password and whatever else stands in it. */
export function shownAddress(address: string): string {
  const { protocol, host, pathname, searchParams } = new URL(address)
  return `${protocol}//${host || (searchParams.get('host') ?? '')}${pathname}`
}
