// What a proxy says first on a connection, in version 2 of the PROXY protocol.

/** A header of version 2; `more` stands behind the addresses. */
export function proxyHeader(command: number, family: number, addresses: number[], more: number[] = []): Buffer {
  const body = Buffer.from([...addresses, ...more])
  const length = Buffer.alloc(2)
  length.writeUInt16BE(body.length, 0)
  return Buffer.concat([
    Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1'),
    Buffer.from([0x20 | command, family]),
    length,
    body,
  ])
}
