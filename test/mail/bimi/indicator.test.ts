// Which pictures are marks that may be shown (SVG Tiny PS), and which are not.

import { expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { indicatorFault } from '#mail/bimi/indicator.ts'

const namespace = 'xmlns="http://www.w3.org/2000/svg"'
const root = `version="1.2" baseProfile="tiny-ps" ${namespace} viewBox="0 0 9 9"`
const svg = (inner: string, attributes = root) => `<svg ${attributes}><title>Us</title>${inner}</svg>`

test.each([
  ['a picture', svg('<path fill="#fff" d="M0 0h9v9z"/>')],
  [
    'a declaration and comments',
    `<?xml version="1.0" encoding="UTF-8"?>\n<!-- ours -->\n${svg('<!-- <script> --><g/>')}`,
  ],
  [
    'what it defines itself',
    svg(
      '<defs><linearGradient id="a"><stop offset="0" stop-color="rgb(1, 2, 3)"/></linearGradient></defs><rect fill="url(#a)"/>',
    ),
  ],
  [
    'a use of its own, and moves',
    svg(
      '<g id="b"/><use xlink:href="#b" transform="translate(1,2) scale(.5)"/>',
      `${root} xmlns:xlink="http://www.w3.org/1999/xlink"`,
    ),
  ],
  ['text with entities', svg('<desc>You &amp; us &#169;</desc>')],
  ['a byte order mark', `\ufeff${svg('<g/>')}`],
])('%s is one', (_, text) => {
  expect(indicatorFault(text)).toBe('')
})

const hostile: readonly (readonly [string, string])[] = [
  ['nothing', ''],
  ['HTML', '<html><title>x</title></html>'],
  ['a full SVG', svg('<g/>', `version="1.1" ${namespace}`)],
  ['no title', `<svg ${root}><g/></svg>`],
  ['a script', svg('<script>alert(1)</script>')],
  ['a script by another name', svg('<s:script/>', `${root} xmlns:s="http://www.w3.org/2000/svg"`)],
  ['a handler', svg('<path onload="alert(1)"/>')],
  ['an animation', svg('<path><animate attributeName="fill"/></path>')],
  ['foreign content', svg('<foreignObject><p/></foreignObject>')],
  ['a picture within', svg('<image href="data:image/png;base64,AA=="/>')],
  ['a link', svg('<a href="https://evil.test"><g/></a>')],
  ['a use from elsewhere', svg('<use href="https://evil.test/x.svg#a"/>')],
  ['a paint from elsewhere', svg('<path fill="url(https://evil.test/x#a)"/>')],
  ['the same in quotes', svg(`<path fill="url('https://evil.test/x#a')"/>`)],
  ['the same by entities', svg('<path fill="ur&#108;(https://evil.test/x#a)"/>')],
  ['the same by escapes', svg('<path fill="\\75rl(https://evil.test/x#a)"/>')],
  ['the same by another function', svg('<path fill="src(https://evil.test/x#a)"/>')],
  ['a style', svg('<style>@import url(https://evil.test)</style>')],
  ['a style as attribute', svg('<path style="fill:url(https://evil.test)"/>')],
  ['another base', svg('<g xml:base="https://evil.test/"/>')],
  ['a document type', `<!DOCTYPE svg [<!ENTITY a "b">]>${svg('<g/>')}`],
  ['an entity of its own', svg('<desc>&a;</desc>')],
  ['a style sheet', `<?xml-stylesheet href="https://evil.test"?>${svg('<g/>')}`],
  ['CDATA', svg('<desc><![CDATA[<script>]]></desc>')],
  ['an attribute twice', svg('<path fill="red" fill="url(https://evil.test)"/>')],
  ['two pictures', svg('<g/>') + svg('<g/>')],
  ['half a picture', svg('<g/>').slice(0, -1)],
  ['elements that overlap', svg('<g><defs></g></defs>')],
  ['a comment without end', `${svg('<g/>')}<!--`],
]

test.each(hostile)('%s is none', (_, text) => {
  expect(indicatorFault(text)).not.toBe('')
})

test.each([
  ['spaces', `<svg${' '.repeat(limits.bimi.indicatorBytesMax)}`],
  ['attributes', svg(`<g ${'a="" '.repeat(6000)}b`)],
  ['elements', svg('<g>'.repeat(9000))],
  ['beginnings', '<'.repeat(limits.bimi.indicatorBytesMax)],
  ['calls', svg(`<g fill="${'rgb('.repeat(7000)}"/>`)],
])('many %s are none, soon', (_, text) => {
  expect(indicatorFault(text)).not.toBe('')
})
