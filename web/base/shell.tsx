// The frame around every page: the bar at the top, the menu at the side, the page itself, what is said and asked in front of it.
//
// Without a session it shows the way in, and afterwards the place that was asked for. Where the password must be changed it leads there
// first. An area is loaded with its texts before it is shown.

import { signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { baseTexts } from '../texts/texts.ts'
import { Acting } from './acting.tsx'
import type { Area, AreaEntry, Group } from './area.ts'
import { Questions } from './dialog.tsx'
import { Icon, Sign } from './icon.tsx'
import { failed, Notices } from './notice.tsx'
import { Page } from './parts.tsx'
import { Preferences } from './preferences.tsx'
import { at, focusPage, go, match, place } from './router.ts'
import { isLikelyNobody, isUnreached, type Session, session, signOut, startSession } from './session.ts'
import { SignIn } from './sign-in.tsx'

/** Where the password is changed (web/account). */
const passwordPlace = '/account/password'

export function Shell({ areas }: { readonly areas: readonly AreaEntry[] }) {
  const current = session.value
  if (current === null && isUnreached.value) return <Unreached />
  if (current === null && !isLikelyNobody.value) return <Waiting />
  return (
    <>
      {current?.signedIn === true ? (
        <SignedIn session={current} areas={areas} />
      ) : (
        <SignIn onTyping={() => ahead(areas)} />
      )}
      <Notices />
      <Questions />
    </>
  )
}

function Waiting() {
  return (
    <div class="state whole" role="status">
      <span class="spinner" aria-hidden="true" />
      <p>{baseTexts.value.loading}</p>
    </div>
  )
}

/** Nothing is known of anybody here, and the service does not answer. */
function Unreached() {
  const texts = baseTexts.value
  return (
    <main id="main" class="state whole failed">
      <Icon name="alert" />
      <div role="status">
        <h1 class="title">{texts.faults.Unreachable}</h1>
      </div>
      <button
        type="button"
        onClick={() => {
          isUnreached.value = false
          void startSession()
        }}
      >
        {texts.again}
      </button>
    </main>
  )
}

/** Whether the place that is open belongs to it. */
function isAt({ name }: AreaEntry): boolean {
  return place.value === `/${name}` || place.value.startsWith(`/${name}/`)
}

/** Areas that were loaded, with their texts: whoever loaded them, what waits for one shows it. */
const loaded = signal<ReadonlyMap<AreaEntry, Area>>(new Map())

async function loadArea(entry: AreaEntry): Promise<Area> {
  const [area] = await Promise.all([entry.load(), entry.texts.open()])
  if (!loaded.value.has(entry)) loaded.value = new Map([...loaded.value, [entry, area]])
  return area
}

/** Loads what whoever signs in will see while they do so; where that fails now it is said then. */
export function ahead(areas: readonly AreaEntry[]): void {
  const entry = areas.find(isAt) ?? areas[0]
  if (entry !== undefined) loadArea(entry).catch(() => {})
}

function SignedIn({ session: current, areas }: { readonly session: Session; readonly areas: readonly AreaEntry[] }) {
  const open = areas.filter(one => one.isOpen(current))
  const path = place.value
  const entry = open.find(isAt)
  const mustChange = current.user?.requirePasswordChange === true && path !== passwordPlace
  const [first] = open
  useEffect(() => {
    if (mustChange) go(passwordPlace, { replace: true })
    else if (path === '' && first !== undefined) go(`/${first.name}`, { replace: true })
  }, [path, mustChange])
  const area = useArea(entry)
  const isMenuOpen = useSignal(false)
  useEffect(() => {
    isMenuOpen.value = false
  }, [path])
  const groups = area === undefined ? [] : area.menu(current)
  return (
    <>
      <a class="skip" href="#main">
        {baseTexts.value.skip}
      </a>
      <header class="top">
        {groups.length > 0 && (
          <button
            type="button"
            class="plain burger"
            aria-expanded={isMenuOpen.value}
            aria-controls="side"
            aria-label={baseTexts.value.menu}
            onClick={() => {
              isMenuOpen.value = !isMenuOpen.value
            }}
          >
            <Icon name={isMenuOpen.value ? 'close' : 'menu'} />
          </button>
        )}
        <a class="brand" href={at('')} aria-label="Teal">
          <Sign size={28} />
          <span>Teal</span>
        </a>
        {open.length > 1 && (
          <nav class="areas" aria-label={baseTexts.value.areas}>
            {open.map(one => (
              <a key={one.name} href={at(`/${one.name}`)} aria-current={one === entry ? 'true' : undefined}>
                <Icon name={one.icon} />
                <span>{one.label()}</span>
              </a>
            ))}
          </nav>
        )}
        <UserMenu session={current} areas={open} />
      </header>
      <Acting session={current} />
      <div class={`frame${area?.isWide === true ? ' wide' : ''}${groups.length === 0 ? ' alone' : ''}`}>
        {groups.length > 0 && <Side groups={groups} path={path} isOpen={isMenuOpen.value} />}
        <main id="main" tabIndex={-1}>
          {open.length === 0 ? (
            <Page title={baseTexts.value.nothingOpen} lead={baseTexts.value.nothingOpenText} />
          ) : entry !== undefined && area === undefined ? (
            <Waiting />
          ) : (
            <Shown area={area} path={path} />
          )}
        </main>
      </div>
    </>
  )
}

/** The area of an entry once it and its texts are loaded. */
function useArea(entry: AreaEntry | undefined): Area | undefined {
  const area = entry === undefined ? undefined : loaded.value.get(entry)
  useEffect(() => {
    if (entry !== undefined && area === undefined) loadArea(entry).catch(failed)
  }, [entry, area])
  return area
}

let isFirst = true

function Shown({ area, path }: { readonly area: Area | undefined; readonly path: string }) {
  const found = area === undefined ? undefined : match(area.routes, path)
  const title = found?.route.title() ?? baseTexts.value.notFound
  useEffect(() => {
    document.title = `${title} · Teal`
  }, [title])
  useEffect(() => {
    if (!isFirst) focusPage()
    isFirst = false
  }, [path])
  if (found === undefined) {
    if (path === '') return null
    return (
      <Page title={baseTexts.value.notFound}>
        <p>
          <a href={at('')}>{baseTexts.value.home}</a>
        </p>
      </Page>
    )
  }
  const { route, values } = found
  return <route.view key={path} values={values} />
}

function Side({
  groups,
  path,
  isOpen,
}: {
  readonly groups: readonly Group[]
  readonly path: string
  readonly isOpen: boolean
}) {
  const items = groups.flatMap(group => group.items)
  const [current] = items
    .filter(item => path === item.path || path.startsWith(`${item.path}/`))
    .toSorted((a, b) => b.path.length - a.path.length)
  return (
    <nav id="side" class={isOpen ? 'side open' : 'side'} aria-label={baseTexts.value.menu}>
      {groups.map(group => (
        <div key={group.label} class="group">
          <h2>{group.label}</h2>
          <ul>
            {group.items.map(item => (
              <li key={item.path}>
                <a href={at(item.path)} aria-current={item === current ? 'page' : undefined}>
                  <Icon name={item.icon} />
                  <span>{item.label}</span>
                </a>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}

interface UserMenuProps {
  readonly session: Session
  readonly areas: readonly AreaEntry[]
}

function UserMenu({ session: { user, role }, areas }: UserMenuProps) {
  const texts = baseTexts.value
  const name = user?.name || user?.address || user?.username || role || ''
  const leave = async () => {
    // They ask about what they keep, be they shown or not.
    for (const area of areas) if (area.mayKeep?.(user?.id ?? '') === true) await loadArea(area)
    if (await signOut()) go('')
  }
  return (
    <div class="user">
      <button type="button" class="plain" popovertarget="user-menu" aria-label={`${texts.you}: ${name}`}>
        <span class="face" aria-hidden="true">
          {[...name][0]?.toUpperCase()}
        </span>
      </button>
      <div id="user-menu" popover="auto" class="popover">
        <p class="who">
          <strong>{name}</strong>
          <span>{user?.address ?? texts.byToken}</span>
        </p>
        <Preferences />
        <button type="button" onClick={() => leave().catch(failed)}>
          {texts.signOut}
        </button>
      </div>
    </div>
  )
}
