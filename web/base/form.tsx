// Forms: fields that know what is wrong with them, one submission at a time, and refusals said where they belong.
//
// A form's values are strings, booleans and lists of its own; `submit` sends them. What the service finds wrong with a field stands
// below that field and gets the focus; everything else stands above the button and is read out.

import { type Signal, useSignal } from '@preact/signals'
import { type ComponentChildren, createContext } from 'preact'
import { useContext, useId, useRef } from 'preact/hooks'
import { baseTexts } from '../texts/texts.ts'
import { Refusal } from './client.ts'
import { explain } from './notice.tsx'
import { wrongText } from './wrong.ts'

type Values = Record<string, unknown>

export interface FormState<V extends object> {
  readonly values: Signal<V>
  /** Field -> what is wrong with it. */
  readonly errors: Signal<Readonly<Record<string, string>>>
  readonly failure: Signal<string>
  readonly busy: Signal<boolean>
  set(change: Partial<V>): void
  submit(): Promise<void>
}

const Context = createContext<FormState<Values> | null>(null)

/**
 * A form that begins with `initial`. `submit` may throw a Refusal, or a `FieldErrors` of its own.
 *
 * Values are read when it is submitted, so `initial` may be what was just loaded.
 */
export function useForm<V extends object>(initial: V, submit: (values: V) => Promise<void>): FormState<V> {
  const values = useSignal(initial)
  const errors = useSignal<Readonly<Record<string, string>>>({})
  const failure = useSignal('')
  const busy = useSignal(false)
  return {
    ...{ values, errors, failure, busy },
    set(change) {
      values.value = { ...values.value, ...change }
    },
    async submit() {
      if (busy.value) return
      busy.value = true
      errors.value = {}
      failure.value = ''
      try {
        await submit(values.value)
      } catch (error) {
        if (error instanceof FieldErrors) errors.value = error.fields
        else if (error instanceof Refusal && Object.keys(error.details).some(key => key in values.value))
          errors.value = Object.fromEntries(Object.entries(error.details).map(([key, said]) => [key, wrongText(said)]))
        else failure.value = explain(error)
      } finally {
        busy.value = false
      }
    },
  }
}

/** What a form itself finds wrong, before it asks anybody. */
export class FieldErrors extends Error {
  readonly fields: Readonly<Record<string, string>>

  constructor(fields: Readonly<Record<string, string>>) {
    super('Fields are wrong')
    this.fields = fields
  }
}

export function Form<V extends object>({
  of,
  children,
  label,
}: {
  readonly of: FormState<V>
  readonly children: ComponentChildren
  readonly label?: string
}) {
  const element = useRef<HTMLFormElement>(null)
  const submit = async (event: Event) => {
    event.preventDefault()
    await of.submit()
    requestAnimationFrame(() => element.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())
  }
  return (
    <Context.Provider value={of as unknown as FormState<Values>}>
      {/* As long as no script is there it is sent nowhere, which `dialog` says outside of one. */}
      <form ref={element} class="form" method="dialog" noValidate onSubmit={submit} aria-label={label}>
        {children}
      </form>
    </Context.Provider>
  )
}

interface FieldProps {
  readonly name: string
  readonly label: string
  readonly hint?: ComponentChildren
  readonly disabled?: boolean
}

export function useField(name: string) {
  const form = useContext(Context)
  if (form === null) throw new Error('A field stands in a form')
  const id = useId()
  const error = form.errors.value[name] ?? ''
  return { form, id, error, value: form.values.value[name] }
}

export function Wrapped({
  id,
  error,
  label,
  hint,
  children,
}: Omit<FieldProps, 'name'> & {
  readonly id: string
  readonly error: string
  readonly children: ComponentChildren
}) {
  return (
    <div class={`field${error === '' ? '' : ' wrong'}`}>
      <label for={id}>{label}</label>
      {children}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error !== '' && (
        <p class="error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  )
}

/** What a screen reader reads beside the label. */
export function described(id: string, error: string, hint: unknown) {
  const parts = [...(hint === undefined ? [] : [`${id}-hint`]), ...(error === '' ? [] : [`${id}-error`])]
  return { 'aria-describedby': parts.join(' ') || undefined, 'aria-invalid': error !== '' || undefined }
}

export interface TextFieldProps extends FieldProps {
  readonly kind?: 'text' | 'password' | 'email' | 'number' | 'date' | 'datetime-local' | 'url' | 'search'
  readonly autocomplete?: string
  readonly inputMode?: 'numeric' | 'email' | 'url'
  readonly placeholder?: string
  readonly maxLength?: number
  readonly autofocus?: boolean
  /** Left to right whatever the page is: addresses, codes. */
  readonly isCode?: boolean
}

export function TextField({ name, label, hint, kind = 'text', isCode, autofocus, ...more }: TextFieldProps) {
  const { form, id, error, value } = useField(name)
  const focus = (input: HTMLInputElement | null) => {
    if (autofocus !== true || input === null || input.dataset.met) return
    input.dataset.met = 'yes'
    // Who is further in a form that came with the page stays there.
    if (input.form?.contains(document.activeElement) !== true) input.focus()
  }
  return (
    <Wrapped {...{ id, error, label, hint }}>
      <input
        {...{ id, name, ...more, ...described(id, error, hint) }}
        ref={focus}
        type={kind as 'text'}
        value={String(value ?? '')}
        dir={isCode === true ? 'ltr' : undefined}
        onInput={event => form.set({ [name]: event.currentTarget.value })}
      />
    </Wrapped>
  )
}

export function TextArea({
  name,
  label,
  hint,
  rows = 5,
  isCode,
  disabled,
}: FieldProps & { rows?: number; isCode?: boolean }) {
  const { form, id, error, value } = useField(name)
  return (
    <Wrapped {...{ id, error, label, hint }}>
      <textarea
        {...{ id, name, rows, disabled, ...described(id, error, hint) }}
        class={isCode === true ? 'code' : undefined}
        dir={isCode === true ? 'ltr' : 'auto'}
        value={String(value ?? '')}
        onInput={event => form.set({ [name]: event.currentTarget.value })}
      />
    </Wrapped>
  )
}

/** Value -> what is shown. */
export type Options = Readonly<Record<string, string>>

export function SelectField({ name, label, hint, options, disabled }: FieldProps & { readonly options: Options }) {
  const { form, id, error, value } = useField(name)
  return (
    <Wrapped {...{ id, error, label, hint }}>
      <select
        {...{ id, name, disabled, ...described(id, error, hint) }}
        value={String(value ?? '')}
        onChange={event => form.set({ [name]: event.currentTarget.value })}
      >
        {Object.entries(options).map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </Wrapped>
  )
}

export function CheckField({ name, label, hint, disabled }: FieldProps) {
  const { form, id, error, value } = useField(name)
  return (
    <div class="field check">
      <input
        {...{ id, name, disabled, ...described(id, error, hint) }}
        type="checkbox"
        checked={value === true}
        onChange={event => form.set({ [name]: event.currentTarget.checked })}
      />
      <div>
        <label for={id}>{label}</label>
        {hint !== undefined && (
          <p class="hint" id={`${id}-hint`}>
            {hint}
          </p>
        )}
        {error !== '' && (
          <p class="error" id={`${id}-error`}>
            {error}
          </p>
        )}
      </div>
    </div>
  )
}

/** Several of some, as boxes; the value is a list. */
export function ChecksField({ name, label, hint, options }: FieldProps & { readonly options: Options }) {
  const { form, id, error, value } = useField(name)
  const chosen = Array.isArray(value) ? value.map(String) : []
  const flip = (key: string, on: boolean) =>
    form.set({ [name]: on ? [...chosen, key] : chosen.filter(one => one !== key) })
  return (
    <fieldset class="field checks" {...described(id, error, hint)}>
      <legend>{label}</legend>
      {Object.entries(options).map(([key, text]) => (
        <label key={key}>
          <input
            type="checkbox"
            checked={chosen.includes(key)}
            onChange={event => flip(key, event.currentTarget.checked)}
          />
          <span>{text}</span>
        </label>
      ))}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error !== '' && (
        <p class="error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </fieldset>
  )
}

/** The button of a form, below what was refused. */
export function Submit({
  children,
  danger = false,
  more,
}: {
  readonly children: ComponentChildren
  readonly danger?: boolean
  /** Further buttons beside it. */
  readonly more?: ComponentChildren
}) {
  const form = useContext(Context)
  const isBusy = form?.busy.value === true
  const failure = form?.failure.value ?? ''
  return (
    <>
      <div role="alert">{failure !== '' && <p class="failure">{failure}</p>}</div>
      <div class="actions">
        <button type="submit" class={danger ? 'primary danger' : 'primary'} aria-disabled={isBusy}>
          {isBusy && <span class="spinner" aria-hidden="true" />}
          {isBusy ? baseTexts.value.working : children}
        </button>
        {more}
      </div>
    </>
  )
}
