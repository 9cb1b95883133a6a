// Reads an archive as any program does: by the list at its end, in the small form or the larger one (APPNOTE.TXT 4.3).

import { crc32, inflateRawSync } from 'node:zlib'

export interface Unzipped {
  readonly name: string
  readonly bytes: Buffer
}

/** All files of an archive. Throws where it is none, or where a sum or a size is wrong. */
export function unzip(archive: Buffer): Unzipped[] {
  const end = archive.length - 22
  if (end < 0 || archive.readUInt32LE(end) !== 0x06_05_4b_50) throw new Error('It has no list of its files')
  let count = archive.readUInt16LE(end + 10)
  let at = archive.readUInt32LE(end + 16)
  if (at === 0xffff_ffff || count === 0xffff) {
    const large = Number(archive.readBigUInt64LE(end - 20 + 8))
    count = Number(archive.readBigUInt64LE(large + 32))
    at = Number(archive.readBigUInt64LE(large + 48))
  }
  const files: Unzipped[] = []
  for (let number = 0; number < count; number += 1) {
    if (archive.readUInt32LE(at) !== 0x02_01_4b_50) throw new Error(`Entry ${number} is none`)
    const [nameLength, moreLength] = [archive.readUInt16LE(at + 28), archive.readUInt16LE(at + 30)]
    const name = archive.subarray(at + 46, at + 46 + nameLength).toString()
    const more = archive.subarray(at + 46 + nameLength, at + 46 + nameLength + moreLength)
    const sizes = {
      packed: archive.readUInt32LE(at + 20),
      size: archive.readUInt32LE(at + 24),
      place: archive.readUInt32LE(at + 42),
    }
    if (more.length > 0) {
      sizes.size = Number(more.readBigUInt64LE(4))
      sizes.packed = Number(more.readBigUInt64LE(12))
      sizes.place = Number(more.readBigUInt64LE(20))
    }
    const { packed, size, place } = sizes
    const begin = place + 30 + archive.readUInt16LE(place + 26) + archive.readUInt16LE(place + 28)
    const bytes = inflateRawSync(archive.subarray(begin, begin + packed))
    if (bytes.length !== size || crc32(bytes) !== archive.readUInt32LE(at + 16)) throw new Error(`${name} is broken`)
    files.push({ name, bytes })
    at += 46 + nameLength + more.length
  }
  return files
}
