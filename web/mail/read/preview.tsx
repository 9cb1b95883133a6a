// A look at an attachment in front of the page: pictures, PDF, text. What kind it is the page decides by what its sender calls it,
// and shows it as nothing else.
//
// A PDF is fetched, seen to begin as one, and given to the browser's own viewer in a frame as a blob of the type application/pdf: so
// whatever is in it is never taken for a page of this origin. No sandbox, since viewers do not start in one; scripts of a PDF run in
// the viewer, which has no session. HTML is shown as the text it is.

import { useEffect } from 'preact/hooks'
import { addressOf, call } from '../../base/client.ts'
import { Dialog } from '../../base/dialog.tsx'
import { shownName, shownSigns } from '../../base/names.ts'
import { Loaded } from '../../base/parts.tsx'
import { useResource } from '../../base/resource.ts'
import { type Message, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'

export type File = Message['attachments'][number]
type Kind = 'picture' | 'pdf' | 'text'

/** What browsers show and cannot run. */
const picture = /^image\/(?:png|jpeg|gif|webp|bmp|avif)$/
const texts = /^(?:text\/[a-z0-9.+-]+|application\/(?:json|xml|x-yaml))$/
const sizesMax: Readonly<Record<Kind, number>> = { picture: 30_000_000, pdf: 50_000_000, text: 5_000_000 }
const signsMax = 500_000

/** How it can be looked at; undefined where it can only be kept. */
export function kindOf({
  contentType,
  filename,
  size,
}: Pick<File, 'contentType' | 'filename' | 'size'>): Kind | undefined {
  const type = contentType.toLowerCase()
  const isPdf = type === 'application/pdf' || (type === 'application/octet-stream' && /\.pdf$/i.test(filename))
  const kind = picture.test(type) ? 'picture' : isPdf ? 'pdf' : texts.test(type) ? 'text' : undefined
  return kind === undefined || size > sizesMax[kind] ? undefined : kind
}

const getting = 'GET /users/:user/mailboxes/:mailbox/messages/:message/attachments/:attachment'

export function paramsOf({ mailbox, id: message }: Message, { id: attachment }: Pick<File, 'id'>) {
  return { user: user(), mailbox, message, attachment }
}

export function Preview({
  message,
  file,
  onClose,
}: {
  readonly message: Message
  readonly file: File
  onClose(): void
}) {
  const params = paramsOf(message, file)
  const kind = kindOf(file)
  const name = shownName(file.filename) || file.id
  return (
    <Dialog title={name} wide onClose={onClose}>
      {kind === 'picture' && <img class="mail-picture" src={addressOf(getting, { params })} alt={name} />}
      {kind === 'text' && <Text params={params} />}
      {kind === 'pdf' && <Pdf params={params} name={name} />}
    </Dialog>
  )
}

type Params = ReturnType<typeof paramsOf>

function Text({ params }: { readonly params: Params }) {
  const found = useResource(async signal => {
    const blob = await call(getting, { params, query: { sendAsString: true }, signal })
    return blob.text()
  }, JSON.stringify(params))
  return (
    <Loaded of={found}>
      {text => (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keys
        <pre class="mail-source" dir="auto" tabIndex={0}>
          {shownSigns(text.slice(0, signsMax))}
          {text.length > signsMax && '\n…'}
        </pre>
      )}
    </Loaded>
  )
}

function Pdf({ params, name }: { readonly params: Params; readonly name: string }) {
  const { noPdf } = mailTexts.value.preview
  const found = useResource(async signal => {
    if (!navigator.pdfViewerEnabled) return ''
    const blob = await call(getting, { params, signal })
    // What is before the mark is not looked at by viewers, either.
    if (!(await blob.slice(0, 1024).text()).includes('%PDF-')) return ''
    return URL.createObjectURL(new Blob([blob], { type: 'application/pdf' }))
  }, JSON.stringify(params))
  useEffect(() => {
    const url = found.data ?? ''
    return () => URL.revokeObjectURL(url)
  }, [found.data])
  return (
    <Loaded of={found}>
      {url =>
        url === '' ? <p>{noPdf}</p> : <iframe class="mail-pdf" title={name} src={url} referrerpolicy="no-referrer" />
      }
    </Loaded>
  )
}
