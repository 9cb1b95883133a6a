// Where the keyboard goes on when what it was on is taken away: a row that was removed, a button that became another.
//
// The browser would begin at the top of the window again. On a page (`.page`) what took the place gets the focus, or else what is around it,
// from where the next Tab goes on. Where something else was given the focus meanwhile nothing happens.

interface Step {
  readonly parent: Element
  /** What stood before it there. */
  readonly before: Element | null
}

let last: { readonly element: Element; readonly way: readonly Step[] } | undefined

const reached = 'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled)'
/** Things of one kind beside each other, of which one may take the place of another. */
const alike = 'tbody, ul, ol, .actions, .row'

export function keepFocus(): void {
  document.addEventListener('focusin', ({ target }) => remember(target as Element))
  const watcher = new MutationObserver(() => {
    // Whoever cares for it themselves does so with what they show.
    if (last?.element.isConnected === false) requestAnimationFrame(giveBack)
  })
  watcher.observe(document.body, { childList: true, subtree: true })
}

function remember(element: Element): void {
  const way: Step[] = []
  if (element.closest('.page') !== null)
    for (let one = element; one.parentElement !== null && !one.matches('.page'); one = one.parentElement)
      way.push({ parent: one.parentElement, before: one.previousElementSibling })
  last = { element, way }
}

function giveBack(): void {
  if (last === undefined || last.element.isConnected) return
  const { way } = last
  last = undefined
  const isFree = document.activeElement === null || document.activeElement === document.body
  const step = way.find(({ parent }) => parent.isConnected)
  if (!isFree || step === undefined) return
  const { parent, before } = step
  const after = before === null ? parent.firstElementChild : before.isConnected ? before.nextElementSibling : null
  const place = after ?? parent.lastElementChild
  const found = place?.matches(reached) === true ? place : place?.querySelector(reached)
  if (parent.matches(alike) && found instanceof HTMLElement) found.focus()
  else rest(parent)
}

function rest(around: Element): void {
  if (!(around instanceof HTMLElement)) return
  if (!around.hasAttribute('tabindex')) around.tabIndex = -1
  around.focus({ preventScroll: true })
}
