// A time server (SNTP, RFC 5905 14) on port 123 of an address, by the clock of this machine and some seconds more.

import { createSocket } from 'node:dgram'
import { now } from '#lib/clock.ts'

const ntpEpoch = 2_208_988_800
const [address = '', ahead = '0'] = process.argv.slice(2)
const socket = createSocket('udp4')
socket.on('message', (_question, from) => {
  const answer = Buffer.alloc(48)
  const at = now() / 1000 + Number(ahead) + ntpEpoch
  answer.writeUInt32BE(Math.floor(at), 40)
  answer.writeUInt32BE(Math.floor((at % 1) * 2 ** 32), 44)
  socket.send(answer, from.port, from.address)
})
socket.bind(123, address)
