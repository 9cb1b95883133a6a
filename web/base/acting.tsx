// The mark on every page while somebody who looks after the service acts as a user, and the way back.
//
// It says as whom and until when. Where the own session waits behind it, it is gone back to; else acting ends with signing out.

import { baseTexts } from '../texts/texts.ts'
import { Icon } from './icon.tsx'
import { time } from './language.ts'
import { failed } from './notice.tsx'
import { go } from './router.ts'
import { endActing, type Session, signOut } from './session.ts'

export function Acting({ session: { acting, user } }: { readonly session: Session }) {
  const texts = baseTexts.value
  if (acting === undefined || user === undefined) return null
  const end = () => {
    const after = acting.back
      ? endActing(() => go(`/service/users/${user.id}`))
      : signOut().then(left => left && go(''))
    after.catch(failed)
  }
  return (
    <section class="acting" aria-label={texts.acting}>
      <Icon name="users" />
      <p>{texts.actingAs(user.address || user.username, time(acting.expires))}</p>
      <button type="button" onClick={end}>
        {acting.back ? texts.endActing : texts.signOut}
      </button>
    </section>
  )
}
