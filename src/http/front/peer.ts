// Who is at the other end of a connection, as uWebSockets.js tells it.

/** The peer's address as text. */
export function peer(res: { getRemoteAddressAsText(): ArrayBuffer }): string {
  const text = Buffer.from(res.getRemoteAddressAsText()).toString()
  // IPv4 on a socket of both families.
  return text.replace(/^(0000:){5}ffff:/, '').replace(/^::ffff:/, '')
}
