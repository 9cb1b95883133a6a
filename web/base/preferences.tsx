// What a browser keeps for whoever sits before it: the language, and light or dark. For the menu and for the way in.

import { useId } from 'preact/hooks'
import { baseTexts } from '../texts/texts.ts'
import { choose, type Language, language, languages } from './language.ts'
import { failed } from './notice.tsx'
import { chooseTheme, theme, themes } from './theme.ts'

export function Preferences() {
  const texts = baseTexts.value
  const id = useId()
  return (
    <div class="preferences">
      <label for={`${id}-language`}>{texts.language}</label>
      <select
        id={`${id}-language`}
        value={language.value}
        onChange={event => void choose(event.currentTarget.value as Language).catch(failed)}
      >
        {Object.entries(languages).map(([code, name]) => (
          <option key={code} value={code} lang={code}>
            {name}
          </option>
        ))}
      </select>
      <label for={`${id}-theme`}>{texts.theme}</label>
      <select
        id={`${id}-theme`}
        value={theme.value}
        onChange={event => chooseTheme(themes.find(one => one === event.currentTarget.value) ?? 'system')}
      >
        {themes.map(one => (
          <option key={one} value={one}>
            {texts.themes[one]}
          </option>
        ))}
      </select>
    </div>
  )
}
