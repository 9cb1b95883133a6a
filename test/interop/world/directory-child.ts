// The directory of a certificate server at the path where the public one has it: what the one behind says, over TLS on port 443.
// Arguments: address, key, certificate, the directory's text.

import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'

const [address = '', key = '', cert = '', text = ''] = process.argv.slice(2)
const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
  response.statusCode = request.url === '/directory' ? 200 : 404
  response.setHeader('content-type', 'application/json').end(text)
})
server.listen(443, address)
