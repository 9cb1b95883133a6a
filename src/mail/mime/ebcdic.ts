// EBCDIC of western countries: single bytes, each set the one of the United States (IBM037) with some characters exchanged.
//
// The tables are what the sets are defined by. Each byte is one character of Latin-1; sets with the euro have it for the general sign of
// currency. Text in ASCII that is called EBCDIC is for charset.ts to tell.

const unitedStates = Buffer.from(
  'AAECA5wJhn+XjY4LDA0ODxAREhOdhQiHGBmSjxwdHh+AgYKDhAoXG4iJiouMBQYHkJEWk5SVlgSYmZqbFBWeGiCg4uTg4ePl5/GiLjwoK3wm6e' +
    'rr6O3u7+zfISQqKTusLS/CxMDBw8XH0aYsJV8+P/jJysvIzc7PzGA6I0AnPSLYYWJjZGVmZ2hpq7vw/f6xsGprbG1ub3Bxcqq65rjGpLV+c3R1' +
    'dnd4eXqhv9Dd3q5eo6W3qae2vL2+W12vqLTXe0FCQ0RFRkdISa309vLz9X1KS0xNTk9QUVK5+/z5+v9c91NUVVZXWFlastTW0tPVMDEyMzQ1Nj' +
    'c4ObPb3Nnanw==',
  'base64',
)

/** Where a set has other characters than that of the United States: a byte and its character, in hexadecimal. */
const exchanged: Readonly<Record<string, string>> = {
  '037': '',
  '273': '437b4ac44f21597e5adc5f5e635b6af67ca7a1dfb0a2b540baacbb7cc0e4cca6d0fcdc7de0d6ec5cfc5d',
  '277': '477d4a234f215aa45bc55f5e67246af870a67bc67cd880409c7b9e5b9f5da1fcb0a2baacbb7cc0e6d0e5dc7e',
  '278': '715ce0c9437b477d4aa74f2151605aa45bc55f5e632367246af679e97bc47cd69f5da1fcb0a2b55bbaacbb7cc0e4cca6d0e5dc7eec40',
  '280': '447b485c4ab04f21515d547d587e5ae95f5e6af279f97ba37ca7905ba1ecb0a2b123b540baacbb7cc0e0cda6d0e8dd60e0e7',
  '284': '49a64a5b5a5d69236af17bd1a1a8b0a2ba5ebb21bd7e',
  '285': '4a245ba3a1afb0a2b15bba5ebc7e',
  '297': '4440485c4ab04f21517b547d5aa75f5e6af979b57ba37ce0905ba060a1a8b0a2b123b55dbaacbb7cbd7ec0e9d0e8dda6e0e7',
  '500': '4a5b4f215a5d5f5eb0a2baacbb7c',
  '871': '4ade4f215ac65fd679f07cd08c608e7b9c7d9e5da1f6ac40ae5bb0a2baacbb7cbe5cc0fecc7ed0e6e0b4ec5e',
  '1047': '5f5ead5bb0acbaddbba8bd5d',
}

/** Sets with the euro, in the order of their numbers from 1140 on. */
const withEuro = ['037', '273', '277', '278', '280', '284', '285', '297', '500', '871']

/** Names of countries that IANA lists. */
const countries: Readonly<Record<string, string>> = {
  ...{ us: '037', ca: '037', wt: '037', nl: '037', be: '500', ch: '500', dk: '277', no: '277', fi: '278', se: '278' },
  ...{ it: '280', es: '284', gb: '285', fr: '297', is: '871', de: '273' },
}

/** The number of a set by a name (letters and digits alone, small), with `+` where it has the euro; undefined where it is none of these. */
export function ebcdicNumber(name: string): string | undefined {
  const [, country = ''] = /^(?:cs)?ebcdiccp([a-z]{2})$/.exec(name) ?? []
  const [, number = ''] = /^(?:cs)?(?:ibm|cp|xibm|ebcdic)0*(\d{2,4})$/.exec(name) ?? []
  if (Object.hasOwn(countries, country)) return countries[country]
  const euro = withEuro[Number(number) - 1140]
  if (euro !== undefined) return `${euro}+`
  const padded = number.padStart(3, '0')
  return number !== '' && Object.hasOwn(exchanged, padded) ? padded : undefined
}

export function decodeEbcdic(bytes: Buffer, number: string): string {
  const table = tableOf(number.replace('+', ''))
  const text = Buffer.from(bytes)
  for (let at = 0; at < text.length; at++) text[at] = table[text[at] as number] as number
  const plain = text.toString('latin1')
  return number.endsWith('+') ? plain.replaceAll('\u00a4', '\u20ac') : plain
}

const tables = new Map<string, Buffer>()

function tableOf(number: string): Buffer {
  let table = tables.get(number)
  if (table === undefined) {
    table = Buffer.from(unitedStates)
    const pairs = Buffer.from(exchanged[number] ?? '', 'hex')
    for (let at = 0; at < pairs.length; at += 2) table[pairs[at] as number] = pairs[at + 1] as number
    tables.set(number, table)
  }
  return table
}
