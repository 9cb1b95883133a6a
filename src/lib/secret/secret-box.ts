// Small secrets at rest, TOTP seeds foremost: encrypted with AES-256-GCM under a key stretched from the service's own.
//
// Written is `$wd01$aes-256-gcm$<tag>$<iv>$<salt>$<data>` in hexadecimal, key = scrypt(secret, salt, 32), the form that
// existing data has (api-semantics 3.1); the older `$<data>` (aes192 with a bare password) is read too. Stretching runs
// beside the loop and its result is kept a while, since one object seals everything under one salt.

import { createCipheriv, createDecipheriv, createHash, createHmac, scrypt } from 'node:crypto'
import { Fault } from '../fault.ts'
import { randomBuffer } from '../id.ts'
import { limits } from '../limits.ts'

export class SecretBox {
  readonly #secret: string
  readonly #salt: Buffer
  /** Salt in hexadecimal -> key. */
  readonly #keys = new Map<string, Promise<Buffer>>()

  /**
   * @param secret from the configuration or from a key file
   * @param salt the same each time for a secret that is random itself: then all that was ever sealed takes one stretching
   */
  constructor(secret: string, salt: Buffer = randomBuffer(16)) {
    this.#secret = secret
    this.#salt = salt
  }

  /** `text`, sealed: another result each time. */
  async seal(text: string): Promise<string> {
    return this.#sealed(text, await this.#key(this.#salt), randomBuffer(ivBytes))
  }

  /**
   * `text`, sealed to the same result each time within one `context`, so that equal ones are found without opening them.
   * The vector is a keyed digest of both: it repeats with the text alone.
   */
  async sealSame(text: string, context: string): Promise<string> {
    const key = await this.#key(this.#salt)
    const digestKey = createHmac('sha256', key).update('initialisation vector').digest()
    const digest = createHmac('sha256', digestKey)
      .update(JSON.stringify([context, text]))
      .digest()
    return this.#sealed(text, key, digest.subarray(0, ivBytes))
  }

  #sealed(text: string, key: Buffer, iv: Buffer): string {
    const cipher = createCipheriv('aes-256-gcm', key, iv)
    const data = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    const parts = [cipher.getAuthTag(), iv, this.#salt, data].map(part => part.toString('hex'))
    return `$wd01$aes-256-gcm$${parts.join('$')}`
  }

  /**
   * What was sealed. A text that was never sealed (data taken over from a service without a secret) is itself.
   *
   * @throws Fault SealBroken where the secret is another one or the text was changed
   */
  async open(sealed: string): Promise<string> {
    if (!sealed.startsWith('$')) return sealed
    try {
      return sealed.startsWith('$wd01$') ? await this.#openGcm(sealed) : this.#openOld(sealed)
    } catch (cause) {
      throw new Fault('SealBroken', { cause })
    }
  }

  async #openGcm(sealed: string): Promise<string> {
    const match = /^\$wd01\$aes-256-gcm\$([0-9a-f]{32})\$([0-9a-f]{24})\$([0-9a-f]{32})\$([0-9a-f]*)$/.exec(sealed)
    if (match === null) throw new Error('not a sealed text')
    const [tag = '', iv = '', salt = '', data = ''] = match.slice(1)
    const key = await this.#key(Buffer.from(salt, 'hex'))
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'hex'), { authTagLength: 16 })
    decipher.setAuthTag(Buffer.from(tag, 'hex'))
    return decipher.update(data, 'hex', 'utf8') + decipher.final('utf8')
  }

  /** OpenSSL's EVP_BytesToKey with MD5 and no salt: 24 bytes of key, 16 of initialisation vector. */
  #openOld(sealed: string): string {
    const data = /^\$([0-9a-f]+)$/.exec(sealed)?.[1]
    if (data === undefined) throw new Error('not a sealed text')
    let material = Buffer.alloc(0)
    let last = Buffer.alloc(0)
    while (material.length < 40) {
      last = createHash('md5').update(last).update(this.#secret).digest()
      material = Buffer.concat([material, last])
    }
    const decipher = createDecipheriv('aes-192-cbc', material.subarray(0, 24), material.subarray(24, 40))
    return decipher.update(data, 'hex', 'utf8') + decipher.final('utf8')
  }

  #key(salt: Buffer): Promise<Buffer> {
    const name = salt.toString('hex')
    const known = this.#keys.get(name)
    if (known !== undefined) return known
    const made = new Promise<Buffer>((resolve, reject) => {
      scrypt(this.#secret, salt, 32, (error, key) => (error === null ? resolve(key) : reject(error)))
    })
    made.catch(() => this.#keys.delete(name))
    this.#keys.set(name, made)
    if (this.#keys.size > limits.seal.keysMax) {
      const [oldest] = this.#keys.keys()
      if (oldest !== undefined) this.#keys.delete(oldest)
    }
    return made
  }
}

const ivBytes = 12
