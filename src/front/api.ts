// HTTP on a front thread: the protocol as home has it, with the endpoints that only read rows run here and the others at home.
//
// Endpoints are the same on all threads, since what they are made of is; where one that runs here lacked something it would
// say so with the first call. Made with the first request: a thread that nobody calls does without.

import type { Callers } from '#actors/auth/callers.ts'
import { type ApiDeps, apiEndpoints } from '#http/api/endpoints.ts'
import { autoconfigOf } from '#http/api/service/autoconfig.ts'
import { eventForms } from '#http/document/event-forms.ts'
import type { Away } from '#http/elsewhere/away.ts'
import type { Endpoint } from '#http/endpoint.ts'
import type { WrongTokens } from '#http/guard/wrong-tokens.ts'
import { version } from '#lib/build-info.ts'
import type { MailCore } from '#mail-core'
import type { Ground } from '#protocol'
import { http } from '#protocols/http'
import type { Reader } from '#store/engine/reader.ts'

export interface ApiOptions {
  readonly core: MailCore & { readonly read: Reader }
  readonly callers: Callers
  readonly wrongTokens: Pick<WrongTokens, 'note'>
  readonly away: Away
  readonly strict: boolean
}

/** Opens its listeners. @throws Fault PortInUse, ConfigInvalid */
export async function openApi(options: ApiOptions, ground: Ground): Promise<void> {
  const { core, callers: access, wrongTokens, away, strict } = options
  let made: readonly Endpoint[] | undefined
  const endpoints = () => {
    made ??= away.endpoints(apiEndpoints(depsOf(core)))
    return made
  }
  await http({ endpoints, strict }).open({ ...core, access, wrongTokens }, ground)
}

function depsOf({ config, system, bodies, reads, settings, journal }: ApiOptions['core']): ApiDeps {
  const here = {
    messages: { system, bodies, reads, settings, journal },
    mailboxes: { system },
    storage: { system, bodies },
    autoconfig: autoconfigOf(config),
    documentation: { version, events: eventForms },
    metrics: config.api.metrics,
  }
  const families = Object.entries(here).map(([name, deps]) => [name, withHome(deps)])
  return withHome(Object.fromEntries(families)) as ApiDeps
}

/** `parts`, and in the place of every other what only home has: it may be handed on, and not used. */
function withHome(parts: object): unknown {
  return new Proxy(parts, { get: (known, name) => (name in known ? known[name as keyof object] : atHome) })
}

const atHome: unknown = new Proxy(() => {}, {
  get: () => atHome,
  apply() {
    throw new Error('what only home has was asked for on a front thread')
  },
})
