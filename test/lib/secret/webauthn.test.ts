import { createPrivateKey, generateKeyPairSync, hkdfSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { Fault } from '#lib/fault.ts'
import { newChallenge } from '#lib/secret/token.ts'
import { checkAssertion, checkAttestation } from '#lib/webauthn/attestation.ts'
import { readCbor, writeCbor } from '#lib/webauthn/cbor.ts'
import { authenticationOptions, originOf, registrationOptions } from '#lib/webauthn/webauthn.ts'
import {
  type Algorithm,
  Authenticator,
  cbor,
  keyFromScalar,
  type Quirks,
  streamedCbor,
  wideCbor,
} from './authenticator.ts'

const site = { origin: 'https://mail.example.com', rpId: 'example.com' }
const ask = () => ({ challenge: newChallenge(), ...site })

const refusal = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => undefined,
    (cause: unknown) => cause,
  )
  if (error === undefined) return 'taken'
  expect(error).toBeInstanceOf(Fault)
  expect((error as Fault).status).toBeLessThan(500)
  expect((error as Fault).message).not.toMatch(/undefined|object Object|Error/)
  return (error as Fault).code
}

describe('a security key in software', () => {
  for (const algorithm of ['ES256', 'RS256'] as const satisfies readonly Algorithm[]) {
    test(`registers and logs in, ${algorithm}, its counter growing`, async () => {
      const key = new Authenticator(algorithm, { counter: 5 })
      const asked = ask()
      const credential = await checkAttestation({ ...asked, ...key.register(asked) })
      expect(credential.rawId).toBe(key.id.toString('hex'))
      expect(credential.counter).toBe(5)
      expect(credential.publicKey).toBe(cbor(key.publicKey()).toString('hex'))
      const login = ask()
      const first = await checkAssertion({ ...login, credential, ...key.login(login) })
      expect(first).toEqual({ counter: 6 })
      const again = ask()
      const second = await checkAssertion({ ...again, credential: { ...credential, ...first }, ...key.login(again) })
      expect(second).toEqual({ counter: 7 })
    })
  }

  test('without a counter logs in any number of times', async () => {
    const key = new Authenticator('ES256')
    const asked = ask()
    const credential = await checkAttestation({ ...asked, ...key.register(asked) })
    for (let round = 0; round < 2; round++) {
      const login = ask()
      expect(await checkAssertion({ ...login, credential, ...key.login(login) })).toEqual({ counter: 0 })
    }
  })

  test('that attests itself is taken, and refused where the attestation was tampered with', async () => {
    const key = new Authenticator('ES256')
    const asked = ask()
    const sent = key.register(asked, {}, 'packed')
    expect((await checkAttestation({ ...asked, ...sent })).rawId).toBe(key.id.toString('hex'))
    const other = new Authenticator('ES256', { id: key.id }).register(asked, {}, 'packed')
    const mixed = { ...sent, clientDataJSON: key.register(asked, { extra: { more: 1 } }).clientDataJSON }
    expect(await refusal(checkAttestation({ ...asked, ...mixed }))).toBe('InvalidAttestation')
    expect(await refusal(checkAttestation({ ...asked, ...other }))).toBe('taken')
  })
})

describe('a registration in any valid CBOR', () => {
  const forms = { wide: wideCbor, streamed: streamedCbor }
  for (const [form, write] of Object.entries(forms)) {
    for (const attestation of ['none', 'packed'] as const) {
      for (const algorithm of ['ES256', 'RS256'] as const) {
        test(`${form}, attestation ${attestation}, ${algorithm}: is taken, and the key logs in`, async () => {
          const key = new Authenticator(algorithm)
          const asked = ask()
          const credential = await checkAttestation({ ...asked, ...key.register(asked, { write }, attestation) })
          expect(credential.publicKey).toBe(cbor(key.publicKey()).toString('hex'))
          const login = ask()
          expect(await checkAssertion({ ...login, credential, ...key.login(login) })).toEqual({ counter: 0 })
        })
      }
    }

    test(`${form}: is refused where the signature is not right, and at every end`, async () => {
      const key = new Authenticator('ES256')
      const asked = ask()
      const sent = key.register(asked, { write }, 'packed')
      const other = { ...sent, clientDataJSON: key.register(asked, { extra: { more: 1 } }).clientDataJSON }
      expect(await refusal(checkAttestation({ ...asked, ...other }))).toBe('InvalidAttestation')
      for (let end = 0; end < sent.attestationObject.length; end += 2) {
        const attestationObject = sent.attestationObject.slice(0, end)
        expect(await refusal(checkAttestation({ ...asked, ...sent, attestationObject }))).toBe('InvalidAttestation')
      }
    })
  }

  test('is written in its shortest form, whatever it holds', () => {
    const same = [
      '00',
      '17',
      '1818',
      '190100',
      '1a00010000',
      '1b0000000100000000',
      '1bffffffffffffffff',
      '20',
      '3bffffffffffffffff',
    ]
    same.push(
      '40',
      '60',
      '80',
      'a0',
      'f4',
      'f93c00',
      'fb3ff199999999999a',
      'c11a514b67b0',
      '83010243030405',
      'a201020304',
    )
    for (const hex of same) expect(writeCbor(readCbor(Buffer.from(hex, 'hex')).value).toString('hex')).toBe(hex)
    const short = {
      '1800': '00',
      '5801ff': '41ff',
      '9f01ff': '8101',
      bf0102ff: 'a10102',
      '7f616161626163ff': '63616263',
    }
    for (const [long, hex] of Object.entries(short)) {
      expect(writeCbor(readCbor(Buffer.from(long, 'hex')).value).toString('hex')).toBe(hex)
    }
    const bad = [
      '',
      '18',
      '1c',
      '5f',
      '5f01ff',
      '5f5f4100ffff',
      'a1',
      'a20101',
      'a201000100',
      '61ff',
      'f800',
      'ff',
      '9bffffffffffffffff',
      '81'.repeat(50),
    ]
    for (const hex of bad) expect(() => readCbor(Buffer.from(hex, 'hex')), hex).toThrow(Error)
  })
})

describe('a registration is refused', () => {
  const key = new Authenticator('ES256')
  const quirks: Readonly<Record<string, Quirks>> = {
    'for another challenge': { challenge: newChallenge() },
    'from another origin': { origin: 'https://mail.example.org' },
    'from the same host without TLS': { origin: 'http://mail.example.com' },
    'for another relying party': { rpId: 'example.org' },
    'of another kind': { type: 'webauthn.get' },
    'from a page inside another': { crossOrigin: true },
    'that nobody touched': { flags: 0x40 },
    'that is backed up without being allowed to': { flags: 0x51 },
    'that promises extensions and has none': { flags: 0xc1 },
    'that brings no key': { flags: 0x01 },
  }
  for (const [what, quirk] of Object.entries(quirks)) {
    test(what, async () => {
      const asked = ask()
      expect(await refusal(checkAttestation({ ...asked, ...key.register(asked, quirk) }))).toBe('InvalidAttestation')
    })
  }

  test('with an algorithm that was not asked for', async () => {
    const asked = ask()
    const sent = new Authenticator('EdDSA').register(asked)
    await expect(checkAttestation({ ...asked, ...sent })).rejects.toThrow(/algorithm/)
  })

  test('with a key that could not be verified with', async () => {
    const asked = ask()
    const weak = new Authenticator('RS256', { key: generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey })
    await expect(checkAttestation({ ...asked, ...weak.register(asked) })).rejects.toThrow(/public key/)
    const whole = new Authenticator('RS256').register(asked)
    for (const exponent of ['000000', '000001', '010000']) {
      const attestationObject = whole.attestationObject.replace(/010001$/, exponent)
      await expect(checkAttestation({ ...asked, ...whole, attestationObject })).rejects.toThrow(/public key/)
    }
    const sent = key.register(asked)
    const point = sent.attestationObject.slice(-64)
    const offCurve = sent.attestationObject.replace(
      point,
      point.replace(/.$/, digit => (digit === '0' ? '1' : '0')),
    )
    await expect(checkAttestation({ ...asked, ...sent, attestationObject: offCurve })).rejects.toThrow(/public key/)
  })

  test('for another key than it says', async () => {
    const asked = ask()
    const sent = { ...key.register(asked), rawId: 'abcdef' }
    await expect(checkAttestation({ ...asked, ...sent })).rejects.toThrow(/another key/)
  })

  test('with an attestation that carries certificates', async () => {
    const asked = ask()
    const sent = key.register(asked)
    const statement = new Map<string, ReturnType<typeof Buffer.from> | number | Map<number, Buffer>>([['alg', -7]])
    for (const format of ['packed', 'fido-u2f', 'tpm', 'android-key', 'android-safetynet', 'apple', 'compound', 'x']) {
      const object = cbor(
        new Map<string, Parameters<typeof cbor>[0]>([
          ['fmt', format],
          ['attStmt', new Map([['x5c', new Map([[0, Buffer.from([0x30, 0])]])], ...statement] as [string, number][])],
          ['authData', Buffer.alloc(37)],
        ]),
      )
      const input = { ...asked, ...sent, attestationObject: object.toString('hex') }
      expect(await refusal(checkAttestation(input)), format).toBe('InvalidAttestation')
    }
  })

  test('made of garbage, and of every beginning of a good one', async () => {
    const asked = ask()
    const sent = key.register(asked)
    const garbage = ['', '0', 'zz', '00', 'ff'.repeat(100), '5b7fffffffffffffff', 'bf', '9f'.repeat(5000)]
    for (const text of garbage) {
      for (const name of ['rawId', 'clientDataJSON', 'attestationObject'] as const) {
        expect(
          await refusal(checkAttestation({ ...asked, ...sent, [name]: text })),
          `${name} ${text.slice(0, 20)}`,
        ).toBe('InvalidAttestation')
      }
    }
    for (let end = 0; end < sent.attestationObject.length; end += 2) {
      const attestationObject = sent.attestationObject.slice(0, end)
      expect(await refusal(checkAttestation({ ...asked, ...sent, attestationObject })), String(end)).toBe(
        'InvalidAttestation',
      )
    }
    for (const json of ['null', '[]', '"x"', '{}', '{"type":1}', `{"type":"webauthn.create","challenge":{}}`]) {
      const clientDataJSON = Buffer.from(json).toString('hex')
      expect(await refusal(checkAttestation({ ...asked, ...sent, clientDataJSON }))).toBe('InvalidAttestation')
    }
  })
})

describe('a login is refused', async () => {
  const key = new Authenticator('ES256', { counter: 10 })
  const asked = ask()
  const credential = await checkAttestation({ ...asked, ...key.register(asked) })
  const quirks: Readonly<Record<string, Quirks>> = {
    'for another challenge': { challenge: newChallenge() },
    'from another origin': { origin: 'https://evil.example.com' },
    'for another relying party': { rpId: 'evil.example.com' },
    'of another kind': { type: 'webauthn.create' },
    'from a page inside another': { crossOrigin: true },
    'that nobody touched': { flags: 0 },
  }
  for (const [what, quirk] of Object.entries(quirks)) {
    test(what, async () => {
      const login = ask()
      expect(await refusal(checkAssertion({ ...login, credential, ...key.login(login, quirk) }))).toBe(
        'InvalidAssertion',
      )
    })
  }

  test('with a counter that did not grow', async () => {
    const login = ask()
    const sent = key.login(login)
    const ahead = { ...credential, counter: key.counter }
    await expect(checkAssertion({ ...login, credential: ahead, ...sent })).rejects.toThrow(/counter/)
    expect(
      await refusal(checkAssertion({ ...login, credential: { ...ahead, counter: key.counter + 100 }, ...sent })),
    ).toBe('InvalidAssertion')
    expect(await checkAssertion({ ...login, credential, ...sent })).toEqual({ counter: key.counter })
  })

  test('signed by another key, or changed after signing', async () => {
    const login = ask()
    const other = new Authenticator('ES256', { counter: 100, id: key.id })
    expect(await refusal(checkAssertion({ ...login, credential, ...other.login(login) }))).toBe('InvalidAssertion')
    const sent = key.login(login)
    const flags = `${sent.authenticatorData.slice(0, 64)}05${sent.authenticatorData.slice(66)}`
    expect(await refusal(checkAssertion({ ...login, credential, ...sent, authenticatorData: flags }))).toBe(
      'InvalidAssertion',
    )
  })

  test('made of garbage', async () => {
    const login = ask()
    const sent = key.login(login)
    for (const text of ['', '0', 'zz', '00', '30', '3006020100020100', 'ff'.repeat(1000)]) {
      for (const name of ['clientDataJSON', 'authenticatorData', 'signature'] as const) {
        expect(await refusal(checkAssertion({ ...login, credential, ...sent, [name]: text }))).toBe('InvalidAssertion')
      }
    }
  })
})

describe('test vectors of Web Authentication Level 3, section 16', () => {
  const input = { origin: 'https://example.org', rpId: 'example.org' }
  const derive = (info: string, salt: number, length: number) =>
    Buffer.from(hkdfSync('sha256', 'WebAuthn test vectors', Buffer.from([salt]), info, length))
  const clientData = (hex: string) => JSON.parse(Buffer.from(hex, 'hex').toString()) as Record<string, unknown>

  /** The vectors derive their parts by HKDF: what is restated here is made again from its recipe. */
  const restated = (info: string, attestation: 'none' | 'packed', loginSalt: number) => {
    const key = keyFromScalar(derive(info, 1, 32).toString('hex'))
    const authenticator = new Authenticator('ES256', { key, id: derive(info, 5, 32) })
    const flags = derive(info, 6, 1)[0] ?? 0
    // Bits of 6.1: UP and AT always, UV and BE as drawn, BS only with BE.
    const drawn = 0x41 | (flags & 0x0c) | ((flags & 0x08) !== 0 ? flags & 0x10 : 0)
    const extra = (salt: number) => ({
      extraData: `clientDataJSON may be extended with additional fields in the future, such as this: ${derive(info, salt, 16).toString('base64url')}`,
    })
    const registration = { ...input, challenge: derive(info, 0, 32).toString('hex') }
    const login = { ...input, challenge: derive(info, loginSalt, 32).toString('hex') }
    return {
      registration,
      login,
      sent: authenticator.register(registration, { flags: drawn, extra: extra(3) }, attestation, derive(info, 4, 16)),
    }
  }

  test('16.2, no attestation, ES256', async () => {
    const { registration, login, sent } = restated('none.ES256', 'none', 7)
    expect(registration.challenge).toBe('00c30fb78531c464d2b6771dab8d7b603c01162f2fa486bea70f283ae556e130')
    expect(sent.attestationObject).toBe(
      'a363666d74646e6f6e656761747453746d74a068617574684461746158a4bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b559000000008446ccb9ab1db374750b2367ff6f3a1f0020f91f391db4c9b2fde0ea70189cba3fb63f579ba6122b33ad94ff3ec330084be4a5010203262001215820afefa16f97ca9b2d23eb86ccb64098d20db90856062eb249c33a9b672f26df61225820930a56b87a2fca66334b03458abf879717c12cc68ed73290af2e2664796b9220',
    )
    const credential = await checkAttestation({ ...registration, ...sent })
    const answer = {
      authenticatorData: 'bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b51900000000',
      clientDataJSON:
        '7b2274797065223a22776562617574686e2e676574222c226368616c6c656e6765223a224f63446e55685158756c5455506f334a5558543049393770767a7a59425039745a63685879617630314167222c226f726967696e223a2268747470733a2f2f6578616d706c652e6f7267222c2263726f73734f726967696e223a66616c73657d',
      signature:
        '3046022100f50a4e2e4409249c4a853ba361282f09841df4dd4547a13a87780218deffcd380221008480ac0f0b93538174f575bf11a1dd5d78c6e486013f937295ea13653e331e87',
    }
    expect(clientData(answer.clientDataJSON).challenge).toBe(Buffer.from(login.challenge, 'hex').toString('base64url'))
    expect(await checkAssertion({ ...login, credential, ...answer })).toEqual({ counter: 0 })
  })

  test('16.3, self attestation, ES256', async () => {
    const { registration, login, sent } = restated('packed-self.ES256', 'packed', 7)
    expect(registration.challenge).toBe('7869c2b772d4b58eba9378cf8f29e26cf935aa77df0da89fa99c0bdc0a76f7e5')
    const attestationObject =
      'a363666d74667061636b65646761747453746d74a263616c672663736967584630440220067a20754ab925005dbf378097c92120031581c73228d1fb4f5b881bcd7da98302207fc7b147558c7c0eba3af18bd9d121fa3d3a26d17fe3f220272178f473b6006d68617574684461746158a4bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b55d00000000df850e09db6afbdfab51697791506cfc0020455ef34e2043a87db3d4afeb39bbcb6cc32df9347c789a865ecdca129cbef58ca5010203262001215820eb151c8176b225cc651559fecf07af450fd85802046656b34c18f6cf193843c5225820927b8aa427a2be1b8834d233a2d34f61f13bfd44119c325d5896e183fee484f2'
    const credential = await checkAttestation({ ...registration, ...sent, attestationObject })
    const tampered = attestationObject.replace('067a20754ab925', '067a20754ab926')
    expect(await refusal(checkAttestation({ ...registration, ...sent, attestationObject: tampered }))).toBe(
      'InvalidAttestation',
    )
    const answer = {
      authenticatorData: 'bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b50900000000',
      clientDataJSON:
        '7b2274797065223a22776562617574686e2e676574222c226368616c6c656e6765223a225248696843784e534e493352594d45314f7731476d3132786e726b634a5f6666707637546e2d4a71386773222c226f726967696e223a2268747470733a2f2f6578616d706c652e6f7267222c2263726f73734f726967696e223a66616c73652c22657874726144617461223a22636c69656e74446174614a534f4e206d617920626520657874656e6465642077697468206164646974696f6e616c206669656c647320696e20746865206675747572652c207375636820617320746869733a206754623533727a36456853576f6d58477a696d433151227d',
      signature:
        '304402203310b9431903c401f1be2bdc8d23a4007682dbbddcf846994947b7f465daf84002204e94dd00047b316061b3b99772b7efd95994a83ef584b3b6b825ea3550251b66',
    }
    expect(await checkAssertion({ ...login, credential, ...answer })).toEqual({ counter: 0 })
    const wrong = { ...answer, signature: answer.signature.replace('3310b943', '3310b944') }
    expect(await refusal(checkAssertion({ ...login, credential, ...wrong }))).toBe('InvalidAssertion')
  })

  test('16.10, the RSA key of two Mersenne primes, RS256', async () => {
    const [p, q, e] = [2n ** 1279n - 1n, 2n ** 2203n - 1n, 65537n]
    const d = inverse(e, (p - 1n) * (q - 1n))
    const number = (value: bigint) => {
      const hex = value.toString(16)
      return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').toString('base64url')
    }
    const jwk = { kty: 'RSA', n: number(p * q), e: number(e), d: number(d), p: number(p), q: number(q) }
    const parts = { dp: number(d % (p - 1n)), dq: number(d % (q - 1n)), qi: number(inverse(q, p)) }
    const key = createPrivateKey({ key: { ...jwk, ...parts }, format: 'jwk' })
    const authenticator = new Authenticator('RS256', { key, id: derive('packed.RS256', 5, 32) })
    const registration = { ...input, challenge: derive('packed.RS256', 0, 32).toString('hex') }
    expect(registration.challenge).toBe('bea8f0770009bd57f2c0df6fea9f743a27e4b61bbe923c862c7aad7a9fc8e4a6')
    const credential = await checkAttestation({ ...registration, ...authenticator.register(registration) })
    const login = { ...input, challenge: newChallenge() }
    expect(await checkAssertion({ ...login, credential, ...authenticator.login(login) })).toEqual({ counter: 0 })
  })
})

function inverse(value: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n]
  while (b !== 0n) [a, b, x, y] = [b, a % b, y, x - (a / b) * y]
  return ((x % modulus) + modulus) % modulus
}

describe('what a browser is given', () => {
  const user = { id: '665f00000000000000000001', name: 'anna@example.com', displayName: 'Anna' }
  const rp = { id: 'example.com', name: 'Teal' }

  test('to register', () => {
    const challenge = newChallenge()
    const form = { challenge, rp, user, attachment: 'cross-platform' as const, known: [] }
    expect(registrationOptions(form)).toEqual({
      ...{ rp, user, challenge },
      pubKeyCredParams: [
        { type: 'public-key', alg: -7 },
        { type: 'public-key', alg: -257 },
      ],
      ...{ timeout: 60_000, attestation: 'none' },
      authenticatorSelection: { authenticatorAttachment: 'cross-platform', userVerification: 'discouraged' },
    })
    const again = (attachment: 'cross-platform' | 'platform') =>
      registrationOptions({ ...form, attachment, known: [{ rawId: 'ab' }] }).excludeCredentials
    expect(again('cross-platform')).toEqual([{ rawId: 'ab', type: 'public-key', transports: ['usb', 'nfc', 'ble'] }])
    expect(again('platform')).toEqual([{ rawId: 'ab', type: 'public-key', transports: ['internal'] }])
  })

  test('to log in', () => {
    const asked = { challenge: '00ff', rpId: 'example.com', known: [{ rawId: 'ab' }] }
    expect(authenticationOptions({ ...asked, alone: true }).userVerification).toBe('required')
    expect(authenticationOptions({ ...asked, alone: false })).toEqual({
      ...{ challenge: '00ff', timeout: 60_000, rpId: 'example.com', userVerification: 'discouraged' },
      allowCredentials: [{ rawId: 'ab', type: 'public-key' }],
    })
  })

  test('origins are compared as browsers write them', () => {
    expect(originOf('https://Mail.Example.com:443/login?x')).toBe('https://mail.example.com')
    expect(originOf('http://localhost:8080/')).toBe('http://localhost:8080')
    expect(originOf('android:apk-key-hash:abc')).toBe('android:apk-key-hash:abc')
    for (const text of ['', 'mail.example.com', 'data:text/html,x', 'javascript:1']) {
      expect(originOf(text)).toBeUndefined()
    }
  })
})
