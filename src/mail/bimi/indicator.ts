// Whether a picture is a mark that may be shown: SVG Tiny Portable/Secure (draft-svg-tiny-ps-abrotman), which has no scripts,
// no animation, no pictures within and nothing that leads out of the file.
//
// Promises: linear in the text, of which limits.bimi says how long it is; only what is known to be harmless passes.

const elements = new Set([
  ...['svg', 'title', 'desc', 'g', 'defs', 'use', 'path', 'rect', 'circle', 'ellipse', 'line', 'polyline', 'polygon'],
  ...['text', 'textArea', 'tspan', 'tbreak', 'linearGradient', 'radialGradient', 'stop', 'solidColor'],
])
const namespace = 'http://www.w3.org/2000/svg'
const tag =
  /^<(\/?)([A-Za-z][\w:-]{0,40})((?:\s{1,1000}[A-Za-z_][\w:.-]{0,60}\s{0,20}=\s{0,20}(?:"[^"<]*"|'[^'<]*'))*)\s{0,1000}(\/?)>/
const attribute = /([A-Za-z_][\w:.-]{0,60})\s{0,20}=\s{0,20}(?:"([^"<]*)"|'([^'<]*)')/g

/** Functions that a value may call: colours, moves, and what the picture itself defines. */
const harmlessCalls =
  /(?<![\w-])(?:rgb|matrix|translate|scale|rotate|skewX|skewY)\([\d\s.,%eE+-]*\)|(?<![\w-])url\(#[\w.-]+\)/g

/** Why a picture is none; empty where it is one. */
export function indicatorFault(svg: string): string {
  const text = svg.replace(/^\ufeff/, '')
  const open: string[] = []
  let titled = false
  let roots = 0
  for (let at = 0; at < text.length; ) {
    const start = text.indexOf('<', at)
    const between = text.slice(at, start < 0 ? text.length : start)
    if (open.length === 0 && between.trim() !== '') return 'text outside of the picture'
    if (/&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[\da-f]{1,6});)/i.test(between)) return 'an entity that nobody defines'
    if (open.at(-1) === 'title' && open.length === 2 && between.trim() !== '') titled = true
    if (start < 0) break
    const skipped = skip(text, start, open.length === 0 && roots === 0)
    if (skipped === undefined) return 'a declaration, or something that does not end'
    if (skipped > start) {
      at = skipped
      continue
    }
    // A mark with one tag of that length is none.
    const found = tag.exec(text.slice(start, start + tagLengthMax))
    if (found === null) return 'it is no XML'
    const [whole, closing, name = '', attributes = '', empty] = found
    at = start + whole.length
    if (closing !== '') {
      if (open.pop() !== name) return 'elements that overlap'
      continue
    }
    if (!elements.has(name)) return `an element ${name}`
    const given = attributesOf(attributes)
    const wrong = given === undefined ? 'an attribute twice' : attributeFault(given)
    if (wrong !== '') return wrong
    if (open.length === 0) {
      roots += 1
      const fault = rootFault(name, given as ReadonlyMap<string, string>)
      if (fault !== '' || roots > 1) return fault || 'more than one picture'
    }
    if (empty === '') open.push(name)
  }
  if (roots === 0 || open.length > 0) return 'it is no whole picture'
  return titled ? '' : 'it has no title'
}

const tagLengthMax = 32 * 1024

/** Past a comment or the declaration in front; undefined for any other declaration. */
function skip(text: string, start: number, first: boolean): number | undefined {
  if (text.startsWith('<!--', start)) {
    const end = text.indexOf('-->', start + 4)
    return end < 0 ? undefined : end + 3
  }
  if (text.startsWith('<?', start)) {
    const end = text.indexOf('?>', start)
    return first && /^<\?xml\s/.test(text.slice(start, start + 6)) && end > 0 ? end + 2 : undefined
  }
  return text.startsWith('<!', start) ? undefined : start
}

function attributesOf(text: string): ReadonlyMap<string, string> | undefined {
  const given = new Map<string, string>()
  for (const [, name = '', quoted, single] of text.matchAll(attribute)) {
    if (given.has(name)) return undefined
    given.set(name, quoted ?? single ?? '')
  }
  return given
}

function attributeFault(given: ReadonlyMap<string, string>): string {
  for (const [name, value] of given) {
    if (/^on/i.test(name)) return `a handler ${name}`
    if (/(?:^|:)href$/i.test(name) && !/^#[\w.-]+$/.test(value)) return 'something that leads out of it'
    if (/^(?:xml:base|src|style|requiredExtensions)$/i.test(name)) return `an attribute ${name}`
    // Values are read as CSS, whose escapes would hide what they say, and so would entities.
    if (/\\|&#|\/\*/.test(value)) return 'an attribute that hides what it says'
    if (/(?:javascript|data|vbscript)\s*:|@import/i.test(value) || value.replace(harmlessCalls, '').includes('(')) {
      return 'something that leads out of it'
    }
    if (/&/.test(value) && !/^(?:[^&]|&(?:amp|lt|gt|quot|apos);)*$/.test(value)) {
      return 'an entity that nobody defines'
    }
    if (/^xmlns(?::|$)/.test(name) && !/^http:\/\/www\.w3\.org\/(?:2000\/svg|1999\/xlink)$/.test(value)) {
      return 'elements of something else'
    }
  }
  return ''
}

function rootFault(name: string, given: ReadonlyMap<string, string>): string {
  if (name !== 'svg' || given.get('xmlns') !== namespace) return 'it is no SVG'
  if (given.get('baseProfile') !== 'tiny-ps' || given.get('version') !== '1.2')
    return 'it is not of the profile Tiny PS'
  return given.has('x') || given.has('y') ? 'it has a place' : ''
}
