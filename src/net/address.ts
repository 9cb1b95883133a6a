// Addresses of peers as text, in the form that is compared and shown.
//
// Looks at what the operating system gives, so it need not refuse anything; never resolves a name.

/** An IPv4 address as such although the socket speaks IPv6. */
export function plainAddress(address: string | undefined): string {
  const text = address ?? ''
  return text.startsWith('::ffff:') && text.includes('.') ? text.slice('::ffff:'.length) : text
}

/** Whether the peer is on this machine. */
export function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.')
}
