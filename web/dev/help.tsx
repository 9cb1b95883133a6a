// What the keys do, and the language of the search: all of it, in front of the page.

import { Dialog } from '../base/dialog.tsx'
import { devTexts } from './texts/texts.ts'

export function Help({ close }: { close(): void }) {
  const texts = devTexts.value
  return (
    <Dialog title={texts.help} onClose={close} wide>
      <div class="dev-help">
        <Rows label={texts.keysTitle} rows={texts.keyRows} />
        <Rows label={texts.searchTitle} rows={texts.searchRows} />
      </div>
    </Dialog>
  )
}

function Rows({ label, rows }: { readonly label: string; readonly rows: readonly (readonly [string, string])[] }) {
  return (
    <table class="plain-table" aria-label={label}>
      <caption>{label}</caption>
      <tbody>
        {rows.map(([what, meaning]) => (
          <tr key={what}>
            <th scope="row">
              <bdi class="code" dir="ltr">
                {what}
              </bdi>
            </th>
            <td>{meaning}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
