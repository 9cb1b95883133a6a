// A bare uWebSockets.js server: the most that an HTTP front on it could answer.
//
// GET answers a JSON text of `bytes` bytes; POST reads its body, parses it as JSON and answers the same. Says its port
// on the channel.

import { App, us_listen_socket_close, us_socket_local_port } from 'uWebSockets.js'

process.once('message', ({ bytes }: { bytes: number }) => {
  const answer = JSON.stringify({ success: true, pad: '' })
  const body = answer.replace('""', `"${'x'.repeat(Math.max(0, bytes - answer.length))}"`)
  const app = App()
  app.get('/*', response => {
    response.writeHeader('Content-Type', 'application/json; charset=utf-8').end(body)
  })
  app.post('/*', response => {
    const chunks: Buffer[] = []
    response.onAborted(() => {})
    response.onData((chunk, last) => {
      chunks.push(Buffer.from(chunk.slice(0)))
      if (!last) return
      JSON.parse(Buffer.concat(chunks).toString())
      response.cork(() => response.writeHeader('Content-Type', 'application/json; charset=utf-8').end(body))
    })
  })
  app.listen('127.0.0.1', 0, socket => {
    process.send?.({ port: us_socket_local_port(socket) })
    process.once('SIGTERM', () => {
      us_listen_socket_close(socket)
      process.exit(0)
    })
  })
})
