// The bar above what is written: bold, italic, lists, quotes, links, colours.
//
// It is one stop of the Tab key; the arrows go along it. A click on it leaves the cursor where it is.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks'
import type Squire from 'squire-rte'
import { Icon } from '../../../base/icon.tsx'
import { mailTexts } from '../../texts/texts.ts'
import { type Ink, inks } from './safe.ts'

interface Tool {
  readonly label: string
  readonly sign: ComponentChildren
  /** Whether it is so where the cursor is. */
  readonly isOn: boolean
  run(): void
}

export function Toolbar({ editor }: { readonly editor: Squire | null }) {
  const texts = mailTexts.value
  const path = useSignal('')
  const isLinking = useSignal(false)
  const bar = useRef<HTMLDivElement>(null)
  const stop = useSignal(0)
  useEffect(() => {
    if (editor === null) return
    const look = () => {
      path.value = editor.getPath()
    }
    for (const name of ['pathChange', 'select', 'cursor', 'input']) editor.addEventListener(name, look)
    return () => {
      for (const name of ['pathChange', 'select', 'cursor', 'input']) editor.removeEventListener(name, look)
    }
  }, [editor])
  const has = (tag: string) =>
    new RegExp(`(?:^|>)${tag}(?:[.>#[]|$)`).test(path.value) || (editor?.hasFormat(tag) ?? false)
  const toggle = (isOn: boolean, on: () => void, off: () => void) => () => {
    if (isOn) off()
    else on()
    editor?.focus()
  }
  const tools: Tool[] =
    editor === null
      ? []
      : [
          tool(
            texts.bold,
            <b>B</b>,
            has('B'),
            () => editor.bold(),
            () => editor.removeBold(),
          ),
          tool(
            texts.italic,
            <i>I</i>,
            has('I'),
            () => editor.italic(),
            () => editor.removeItalic(),
          ),
          tool(
            texts.bullets,
            <Icon name="list" />,
            has('UL'),
            () => editor.makeUnorderedList(),
            () => editor.removeList(),
          ),
          tool(
            texts.numbers,
            <Icon name="numbers" />,
            has('OL'),
            () => editor.makeOrderedList(),
            () => editor.removeList(),
          ),
          tool(
            texts.quote,
            <Icon name="quote" />,
            has('BLOCKQUOTE'),
            () => editor.increaseQuoteLevel(),
            () => editor.decreaseQuoteLevel(),
          ),
          {
            ...{ label: texts.link, sign: <Icon name="link" />, isOn: has('A') },
            run: () => {
              isLinking.value = !isLinking.value
            },
          },
          tool(
            texts.noForm,
            <Icon name="close" />,
            false,
            () => editor.removeAllFormatting(),
            () => {},
          ),
        ]
  function tool(label: string, sign: ComponentChildren, isOn: boolean, on: () => void, off: () => void): Tool {
    return { label, sign, isOn, run: toggle(isOn, on, off) }
  }
  const go = (event: KeyboardEvent) => {
    const stops = [...(bar.current?.querySelectorAll<HTMLElement>('button, select') ?? [])]
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const turned = getComputedStyle(event.currentTarget as Element).direction === 'rtl' ? -step : step
    stop.value = (stop.value + turned + stops.length) % stops.length
    stops[stop.value]?.focus()
  }
  return (
    <>
      <div ref={bar} class="mail-tools" role="toolbar" aria-label={texts.form} onKeyDown={go}>
        {tools.map(({ label, sign, isOn, run }, at) => (
          <button
            key={label}
            type="button"
            class="plain"
            title={label}
            aria-label={label}
            aria-pressed={isOn}
            tabIndex={stop.value === at ? 0 : -1}
            // The cursor stays where it is.
            onMouseDown={event => event.preventDefault()}
            onClick={run}
          >
            {sign}
          </button>
        ))}
        {editor !== null && <Inks editor={editor} path={path.value} tabIndex={stop.value === tools.length ? 0 : -1} />}
      </div>
      {isLinking.value && editor !== null && (
        <LinkField
          editor={editor}
          onDone={() => {
            isLinking.value = false
            editor.focus()
          }}
        />
      )}
    </>
  )
}

function Inks({
  editor,
  path,
  tabIndex,
}: {
  readonly editor: Squire
  readonly path: string
  readonly tabIndex: number
}) {
  const texts = mailTexts.value
  const now = /\.ink-(\w+)/.exec(path)?.[1] ?? ''
  return (
    <select
      aria-label={texts.ink}
      title={texts.ink}
      tabIndex={tabIndex}
      value={now}
      onChange={event => {
        const ink = event.currentTarget.value
        const all = (Object.keys(inks) as Ink[]).map(name => ({ tag: 'SPAN', attributes: { class: `ink-${name}` } }))
        for (const old of all) if (editor.hasFormat(old.tag, old.attributes)) editor.changeFormat(null, old)
        if (ink !== '') editor.changeFormat({ tag: 'SPAN', attributes: { class: `ink-${ink}` } }, null)
        editor.focus()
      }}
    >
      <option value="">{texts.inkNames.none}</option>
      {(Object.keys(inks) as Ink[]).map(ink => (
        <option key={ink} value={ink}>
          {texts.inkNames[ink]}
        </option>
      ))}
    </select>
  )
}

function LinkField({ editor, onDone }: { readonly editor: Squire; onDone(): void }) {
  const texts = mailTexts.value
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  const address = useSignal(linkAt(editor))
  // Before the next key, which is meant for it.
  useLayoutEffect(() => field.current?.focus(), [])
  const set = () => {
    const given = address.value.trim()
    const isMail = /^[^\s/@]+@[^\s/@]+$/.test(given)
    const whole = /^(?:https?:\/\/|mailto:|tel:)/i.test(given) ? given : `${isMail ? 'mailto:' : 'https://'}${given}`
    if (given === '') editor.removeLink()
    else editor.makeLink(whole)
    onDone()
  }
  return (
    <div class="mail-link">
      <label for={id}>{texts.linkAddress}</label>
      <input
        ref={field}
        id={id}
        dir="ltr"
        autocomplete="off"
        value={address.value}
        onInput={event => {
          address.value = event.currentTarget.value
        }}
        onKeyDown={event => {
          if (event.key !== 'Enter' && event.key !== 'Escape') return
          event.preventDefault()
          event.stopPropagation()
          if (event.key === 'Enter') set()
          else onDone()
        }}
      />
      <button type="button" onClick={set}>
        {texts.setLink}
      </button>
    </div>
  )
}

function linkAt(editor: Squire): string {
  const { startContainer: node } = editor.getSelection()
  const element = node instanceof Element ? node : node.parentElement
  return element?.closest('a')?.getAttribute('href') ?? ''
}
