// Signatures of calls to a store, by the examples that are published with their description.

import { expect, test } from 'vitest'
import { type Call, signed } from '#store/bodies/objects/signature.ts'

const signer = {
  accessKey: 'AKIAIOSFODNN7EXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
}
const at = Date.UTC(2013, 4, 24)
const host = 'https://examplebucket.s3.amazonaws.com'

const examples: readonly (Call & { readonly gives: string })[] = [
  {
    method: 'GET',
    url: new URL('/test.txt', host),
    headers: { range: 'bytes=0-9' },
    gives: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  },
  {
    method: 'GET',
    url: new URL('/?lifecycle', host),
    gives: 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  },
  {
    method: 'GET',
    url: new URL('/?max-keys=2&prefix=J', host),
    gives: '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  },
]

test.each(examples)('$method $url', ({ gives, ...call }) => {
  const { authorization } = signed(call, signer, at)
  expect(authorization).toMatch(new RegExp(`Signature=${gives}$`))
  expect(authorization).toContain('Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request')
  expect(JSON.stringify(signed(call, signer, at))).not.toContain(signer.secretKey)
})
