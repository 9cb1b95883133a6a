// Mail services for tests behind one face, for bench/section/testing.ts to measure one after the other: Teal's package as it
// is built, and two of others as their documentation says they are started.
//
// Each is measured in a process of its own, started with its name and the file of its module.

import { once } from 'node:events'
import { createServer } from 'node:net'
import { pathToFileURL } from 'node:url'
import type { Target } from '../load/line.ts'

export const catcherNames = ['teal', 'smtp-tester', 'maildev'] as const
export type CatcherName = (typeof catcherNames)[number]

/** One that runs. */
export interface Catcher {
  readonly smtp: Target
  /** Resolves with the subject of the next mail for an address; called before it is sent. */
  wait(address: string): Promise<string>
  close(): Promise<void>
}

type Start = () => Promise<Catcher>

/** Loads one; what it gives starts it. @param file where its module lies */
export async function loadCatcher(name: CatcherName, file: string): Promise<Start> {
  const load = loaders[name] as (module: unknown) => Start
  return load(await import(pathToFileURL(file).href))
}

const host = '127.0.0.1'

/** What is used of each, as its documentation names it. */
interface Modules {
  readonly teal: typeof import('../../src/testing.d.ts')
  readonly 'smtp-tester': {
    readonly default: {
      init(port: number): {
        captureOne(address: string, how: { wait: number }): Promise<{ email: { headers: { subject: string } } }>
        stop(done: () => void): void
      }
    }
  }
  readonly maildev: {
    readonly MailDev: new (
      config: object,
    ) => {
      start(): Promise<{ smtp: Record<'on' | 'off', (event: 'new', heard: (mail: MaildevMail) => void) => void> }>
      stop(): Promise<void>
    }
  }
}

interface MaildevMail {
  readonly subject: string
  readonly to: readonly { readonly address: string }[]
}

const loaders: { readonly [Name in CatcherName]: (module: Modules[Name]) => Start } = {
  teal: module => async () => {
    const teal = await module.startTesting()
    return {
      smtp: teal.smtp,
      wait: async address => (await teal.all.wait({ to: address })).subject,
      close: () => teal.close(),
    }
  },
  'smtp-tester': module => async () => {
    const port = await freePort()
    const server = module.default.init(port)
    return {
      smtp: { host, port },
      wait: async address => (await server.captureOne(address, { wait: waitMs })).email.headers.subject,
      close: () => new Promise(resolve => server.stop(resolve)),
    }
  },
  maildev: module => async () => {
    const [smtp, web] = [await freePort(), await freePort()]
    const server = new module.MailDev({ smtp, web, ip: host, webIp: host, silent: true })
    const servers = await server.start()
    return {
      smtp: { host, port: smtp },
      wait: address =>
        new Promise(resolve => {
          const heard = (mail: MaildevMail) => {
            if (!mail.to.some(to => to.address === address)) return
            servers.smtp.off('new', heard)
            resolve(mail.subject)
          }
          servers.smtp.on('new', heard)
        }),
      close: () => server.stop(),
    }
  },
}

const waitMs = 10_000

/** They cannot be asked which port they got. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
