// The frame that shows somebody's HTML: an empty document of the service's own, with a policy of its own, in a sandbox without
// scripts (src/http/api/owner/mail-frame.ts), into which cleaned nodes are put.
//
// It is as high as what is in it, so that the page scrolls and not the frame. Keys that are pressed in it are the page's.

import { useEffect, useRef } from 'preact/hooks'
import { type Cleaned, clean } from './clean.ts'

/** What stands behind a link that pretends, whatever the letter says of its like; body.tsx says it where no letter reaches. */
const mark = Object.entries({
  all: 'revert',
  ...{
    display: 'inline',
    visibility: 'visible',
    position: 'static',
    opacity: 1,
    transform: 'none',
    'clip-path': 'none',
  },
  ...{ font: '12px/1 monospace', color: '#b3261e', background: '#fff', direction: 'ltr', 'unicode-bidi': 'isolate' },
})
  .map(([name, value]) => `${name}: ${value} !important;`)
  .join(' ')

/** Of the frame: what was written for white paper stays on white paper. */
const sheet = `
:root { color-scheme: light; background: #fff; color: #1c1c1e; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 0; padding: 16px; overflow-wrap: anywhere; }
img { max-width: 100%; height: auto; }
table { max-width: 100%; }
pre { white-space: pre-wrap; }
small.teal-host { ${mark} }
blockquote { margin: 8px 0; padding-inline-start: 12px; border-inline-start: 3px solid #d5d8dc; color: #555b63; }
`

const heightMax = 200_000
/** What fits on A4 and on letter paper. */
const paperWidth = '680px'

export function HtmlFrame({
  html,
  pictures,
  title,
  addressOf,
  onCleaned,
  onKey,
}: {
  readonly html: string
  readonly pictures: boolean
  readonly title: string
  /** Where an attachment of the message is. */
  addressOf(attachment: string): string
  /** Told how many pictures were left out, and of the hosts of links that pretend to lead elsewhere. */
  onCleaned(found: Pick<Cleaned, 'blocked' | 'hosts'>): void
  onKey(event: KeyboardEvent): void
}) {
  const element = useRef<HTMLIFrameElement>(null)
  useEffect(() => {
    const frame = element.current
    if (frame === null) return
    const made: string[] = []
    let watcher: ResizeObserver | undefined
    let isGone = false
    let over = 0
    const measure = () => {
      const root = frame.contentDocument?.documentElement
      if (root === undefined) return
      // What lies beside the flow counts; where nothing does, the window of the frame would.
      if (root.scrollHeight > frame.clientHeight) over = root.scrollHeight
      const height = Math.max(over, Math.ceil(root.getBoundingClientRect().height))
      frame.style.blockSize = `${Math.min(heightMax, height)}px`
    }
    const fill = () => {
      const inside = frame.contentDocument
      const window = frame.contentWindow as (Window & typeof globalThis) | null
      if (inside === null || window === null || isGone) return
      const content = clean(html, pictures, window)
      onCleaned(content)
      const style = inside.createElement('style')
      style.textContent = sheet
      inside.head.append(style)
      for (const [name, value] of Object.entries(content.look)) inside.body.setAttribute(name, value)
      inside.body.replaceChildren(content.nodes)
      showOwn(content, addressOf, made, () => isGone)
      watcher = new ResizeObserver(measure)
      watcher.observe(inside.body)
      measure()
      inside.addEventListener('keydown', onKey)
      frame.ariaBusy = 'false'
    }
    // Paper is narrower than most windows: the frame is made as high as its text is there.
    const print = () => {
      over = 0
      frame.style.inlineSize = paperWidth
      measure()
    }
    const printed = () => {
      over = 0
      frame.style.inlineSize = ''
      frame.style.blockSize = ''
      measure()
    }
    addEventListener('beforeprint', print)
    addEventListener('afterprint', printed)
    frame.addEventListener('load', fill)
    frame.ariaBusy = 'true'
    frame.src = pictures ? '/frame/pictures' : '/frame/closed'
    return () => {
      isGone = true
      watcher?.disconnect()
      removeEventListener('beforeprint', print)
      removeEventListener('afterprint', printed)
      frame.removeEventListener('load', fill)
      for (const url of made) URL.revokeObjectURL(url)
    }
  }, [html, pictures])
  return (
    <iframe
      ref={element}
      class="mail-html"
      title={title}
      sandbox="allow-same-origin allow-popups allow-popups-to-escape-sandbox"
      referrerpolicy="no-referrer"
    />
  )
}

/** Pictures of the message itself: fetched by the page, since the frame fetches nothing. */
function showOwn(
  { own }: Cleaned,
  addressOf: (attachment: string) => string,
  made: string[],
  isGone: () => boolean,
): void {
  for (const { image, attachment } of own.slice(0, picturesMax)) {
    fetch(addressOf(attachment), { headers: { 'X-Teal-Page': '1' } })
      .then(async answer => {
        const blob = answer.ok ? await answer.blob() : undefined
        if (blob === undefined || isGone() || !/^image\/(?!svg)/.test(blob.type)) return
        const url = URL.createObjectURL(blob)
        made.push(url)
        image.setAttribute('src', url)
      })
      .catch(() => {})
  }
}

const picturesMax = 200
