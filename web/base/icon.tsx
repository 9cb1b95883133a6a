// The page's pictures: lines on a grid of 24, in the colour of the text.
//
// They are for the eye only: what they mean is said in words beside them, or by the name of their button.

const paths = {
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4 21a8 8 0 0 1 16 0',
  alert: 'M12 8v5m0 3.5v.01M10.3 3.9 2.4 18a2 2 0 0 0 1.7 3h15.8a2 2 0 0 0 1.7-3L13.7 3.9a2 2 0 0 0-3.4 0z',
  archive: 'M3 4h18v5H3zM5 9v11h14V9M10 13h4',
  chart: 'M4 20V10m6 10V4m6 16v-7m4 7H2',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  chevron: 'm9 6 6 6-6 6',
  clip: 'M20 11l-8.5 8.5a5 5 0 0 1-7-7L13 4a3.4 3.4 0 0 1 4.8 4.8L9.5 17a1.7 1.7 0 0 1-2.4-2.4L15 6.8',
  close: 'M6 6l12 12M18 6 6 18',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 7v5l3.5 2',
  domain: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18',
  down: 'm6 9 6 6 6-6',
  download: 'M12 4v11m-4.5-4.5L12 15l4.5-4.5M4 20h16',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  filter: 'M3 5h18l-7 8.5V20l-4-2v-4.5z',
  folder: 'M3 6a1 1 0 0 1 1-1h5l2 2.5h9a1 1 0 0 1 1 1V18a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1z',
  forward: 'M13 6l6 6-6 6M19 12H9a5 5 0 0 0-5 5v1',
  key: 'M14.5 9.5a4.5 4.5 0 1 0-3.2 4.3L13 15.5h2V17.5h2V19.5h3v-3l-5.6-5.6c.1-.45.1-.9.1-1.4zM9 8.5v.01',
  link: 'M10 14a4 4 0 0 0 5.7 0l3-3a4 4 0 0 0-5.7-5.7l-1.2 1.2M14 10a4 4 0 0 0-5.7 0l-3 3a4 4 0 0 0 5.7 5.7l1.2-1.2',
  list: 'M8 6h12M8 12h12M8 18h12M4 6v.01M4 12v.01M4 18v.01',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  log: 'M5 3h14v18H5zM9 8h6M9 12h6M9 16h3',
  mail: 'M3 6h18v13H3zM3 7l9 7 9-7',
  menu: 'M4 7h16M4 12h16M4 17h16',
  numbers: 'M10 6h10M10 12h10M10 18h10M4 5l1.5-1v4.5M4 11.5h2.5L4 15h2.5M4 18h2.5l-1.5 1.5q1.5 0 1.5 1t-2.5 1',
  palm: 'M12 21c0-6 .5-9 2-11M14 10c-1-4-5-5-8-3 3 0 6 1 8 3zm0 0c0-4 3-6 6-6-1 3-3 5-6 6zm0 0c3-1 6 1 7 4-3 0-5-1-7-4zM5 21h14',
  pause: 'M8 5v14M16 5v14',
  phone: 'M8 3h8a1 1 0 0 1 1 1v16a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM11 18h2',
  plus: 'M12 5v14M5 12h14',
  refresh: 'M20 5v5h-5M4 19v-5h5M5.5 9a7.5 7.5 0 0 1 12.5-2.5L20 10M4 14l2 3.5A7.5 7.5 0 0 0 18.5 15',
  reply: 'M11 6l-6 6 6 6M5 12h10a5 5 0 0 1 5 5v1',
  replyAll: 'M12 6l-6 6 6 6M7 6l-6 6 6 6M6 12h11a5 5 0 0 1 5 5v1',
  print: 'M7 8V3h10v5M7 17H4V8h16v9h-3M7 13h10v8H7z',
  redirect: 'M4 12h14m-5-5 5 5-5 5M4 5v14',
  quote: 'M5 17c3-1 4-3 4-6H5V6h5v5c0 4-1.500 6-4 7.500M14 17c3-1 4-3 4-6h-4V6h5v5c0 4-1.500 6-4 7.500',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14M16 16l5 5',
  settings:
    'M4 7h9m4 0h3M4 17h3m4 0h9M15 9.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M9 19.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5',
  shield: 'M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6z',
  signature: 'M3 18c4-1 6-5 6-9 0-3-3-3-3 0 0 5 4 7 7 4 1-1 2-1 2 1s2 2 3 1l2-1M4 21h16',
  star: 'm12 3.5 2.6 5.4 5.9.8-4.3 4.1 1.1 5.9-5.3-2.9-5.3 2.9 1.1-5.9-4.3-4.1 5.9-.8z',
  storage:
    'M4 6c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3v12c0 1.7 3.6 3 8 3s8-1.3 8-3V6M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8M12 2v2m0 16v2M4.9 4.9l1.4 1.4m11.4 11.4 1.4 1.4M2 12h2m16 0h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5m4-5v5',
  up: 'm6 15 6-6 6 6',
  upload: 'M12 20V9m-4.5 4.5L12 9l4.5 4.5M4 4h16',
  users:
    'M9 12a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M2.5 20a6.5 6.5 0 0 1 13 0M16 5.5a3.5 3.5 0 0 1 0 6.5M18.5 14.5a6.5 6.5 0 0 1 3 5.5',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class={`icon ${name}`} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}

/** The sign of the page itself (web/icon.svg), in its own colours. */
export function Sign({ size }: { readonly size: number }) {
  return (
    <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="#0d9488" />
      <path d="M7 11.5 16 18l9-6.5V22a2 2 0 0 1-2 2H9a2 2 0 0 1-2-2z" fill="#fff" />
      <path d="M9 8h14a2 2 0 0 1 1.8 1.2L16 15.6 7.2 9.2A2 2 0 0 1 9 8z" fill="#ccfbf1" />
    </svg>
  )
}
