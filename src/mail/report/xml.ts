// As much of XML as a report needs (XML 1.0): elements and their text, the five entities and numbers of characters.
//
// Bounded: a document type is refused, so that nothing can be declared and nothing grows when it is read; elements have an end, a depth
// and a number. An ampersand that begins nothing known stands for itself, as in names of companies. Attributes are passed over, names lose their prefix.

import { limits } from '#lib/limits.ts'

export interface XmlElement {
  readonly name: string
  text: string
  readonly children: XmlElement[]
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const characterMax = 0x10ffff

/** The root of a document. @throws SyntaxError */
export function readXml(text: string): XmlElement {
  const root: XmlElement = { name: '', text: '', children: [] }
  const stack: XmlElement[] = [root]
  let count = 0
  let at = text.charCodeAt(0) === 0xfeff ? 1 : 0
  const until = (mark: string, from: number) => {
    const end = text.indexOf(mark, from)
    if (end < 0) throw new SyntaxError(`no ${mark}`)
    return end
  }
  while (at < text.length) {
    const open = text.indexOf('<', at)
    const top = stack.at(-1) as XmlElement
    const words = text.slice(at, open < 0 ? text.length : open)
    if (words.trim() !== '') {
      if (stack.length === 1) throw new SyntaxError('text outside of the document')
      top.text += unescaped(words)
    }
    if (open < 0) break
    if (text.startsWith('<!--', open)) {
      at = until('-->', open + 4) + 3
      continue
    }
    if (text.startsWith('<![CDATA[', open)) {
      const end = until(']]>', open)
      top.text += text.slice(open + 9, end)
      at = end + 3
      continue
    }
    if (text.startsWith('<?', open)) {
      at = until('?>', open) + 2
      continue
    }
    if (text.startsWith('<!', open)) throw new SyntaxError('a document type')
    const end = until('>', open)
    at = end + 1
    const tag = text.slice(open + 1, end)
    const [, closes = '', name = ''] = /^(\/?)(?:[\w.-]+:)?([\w.-]+)(?=[\s/]|$)/.exec(tag) ?? []
    if (name === '') throw new SyntaxError('no name')
    if (closes !== '') {
      if (stack.length === 1 || top.name !== name) throw new SyntaxError(`${name} was not open`)
      stack.pop()
      continue
    }
    count += 1
    const { elementsMax, depthMax } = limits.arrivedReport
    if (count > elementsMax || stack.length > depthMax) throw new SyntaxError('too many elements')
    const element: XmlElement = { name, text: '', children: [] }
    top.children.push(element)
    if (!tag.endsWith('/')) stack.push(element)
  }
  const [only] = root.children
  if (stack.length !== 1 || root.children.length !== 1 || only === undefined) throw new SyntaxError('not one document')
  return only
}

function unescaped(text: string): string {
  return text.replace(/&([^;&]{0,10});?/g, (found, word: string) => {
    const known = entities[word]
    if (known !== undefined && found.endsWith(';')) return known
    const [, hex, digits] = /^#(?:x([\da-f]{1,6})|(\d{1,7}))$/i.exec(word) ?? []
    const code = hex === undefined ? Number(digits ?? Number.NaN) : Number.parseInt(hex, 16)
    return code > 0 && code <= characterMax && found.endsWith(';') ? String.fromCodePoint(code) : found
  })
}
