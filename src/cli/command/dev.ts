// `teal dev`: a mail service for an application that is being written or tested, in any language. It runs until a signal ends it and
// leaves nothing behind that it was not given a folder for.
//
// Says where everything is and what an application is told, and fails with a sentence where a port is taken.

import { readFileSync } from 'node:fs'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { Dev, DevOptions } from '#dev/dev.ts'
import { type DevPort, devPorts as ports } from '#dev/ports.ts'
import { hold } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'

const names = Object.keys(ports) as DevPort[]

export function devCommand(): Command {
  const command = new Command('dev').addHelpText(
    'after',
    '\nExamples:\n  teal dev\n  teal dev --smtp-port 2525 --imap-port off\n  teal dev --dir mail',
  )
  const option = (flags: string, what: string, variable: string) => new Option(flags, what).env(`TEAL_DEV_${variable}`)
  for (const name of names) {
    const { initial, what } = ports[name]
    const flags = `--${name}-port <port>`
    const made = option(flags, `port of ${what}; 0 takes a free one, off leaves it out`, `${name.toUpperCase()}_PORT`)
    command.addOption(made.default(initial ?? 'off').argParser(portOf))
  }
  return command
    .addOption(option('--host <address>', 'address to listen on', 'HOST').default('127.0.0.1'))
    .addOption(option('-d, --dir <folder>', 'folder that keeps the accounts (default: a temporary one)', 'DIR'))
    .addOption(
      option('--accept <name...>', 'addresses and domains that are taken (default: all)', 'ACCEPT').argParser(more),
    )
    .addOption(
      option('--allow-host <name...>', 'further names of this machine in requests', 'ALLOW_HOST').argParser(more),
    )
    .addOption(
      // A flag that has no value would be on whatever its variable says.
      option('--starttls [yes]', 'offer STARTTLS, with a certificate that nobody has signed', 'STARTTLS')
        .preset('yes')
        .argParser(truthOf),
    )
    .addOption(option('--dns <file>', 'TXT records for SPF, DKIM and DMARC, as JSON: name to text or texts', 'DNS'))
    .addOption(option('--webhook <url>', 'is told of each mail that arrives, by POST', 'WEBHOOK'))
    .addOption(
      option(
        '--release-url <url>',
        'server that mail is released to by hand: smtp://user:password@host:587',
        'RELEASE_URL',
      ),
    )
    .addOption(
      option('--release-to <name...>', 'addresses and domains it may be released to; * is all', 'RELEASE_TO').argParser(
        more,
      ),
    )
    .addOption(
      option('--max <mails>', 'mails that are shown; older ones are forgotten', 'MAX')
        .default(limits.dev.mailsMax)
        .argParser(countOf),
    )
    .action(dev)
}

interface Options extends Readonly<Record<`${DevPort}Port`, number | 'off'>> {
  readonly host: string
  readonly dir?: string
  readonly accept?: readonly string[]
  readonly allowHost?: readonly string[]
  readonly starttls?: boolean
  readonly dns?: string
  readonly max: number
  readonly webhook?: string
  readonly releaseUrl?: string
  readonly releaseTo?: readonly string[]
}

function portOf(text: string): number | 'off' {
  if (text === 'off') return text
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('It is a number to 65535, or off.')
  return port
}

function truthOf(text: string): boolean {
  const word = text.trim().toLowerCase()
  if (['true', 'yes', 'on', '1'].includes(word)) return true
  if (['false', 'no', 'off', '0', ''].includes(word)) return false
  throw new InvalidArgumentError('It is true or false.')
}

function countOf(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It is a number from 1.')
  return Number(text)
}

/** Words one after the other, or in one with commas between them, as a variable of the environment has them. */
function more(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(',').flatMap(word => (word.trim() === '' ? [] : [word.trim()]))]
}

async function dev(options: Options): Promise<void> {
  let end: (() => void) | undefined
  const ended = new Promise<void>(resolve => {
    end = resolve
  })
  let stopping = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(1)
      stopping = true
      end?.()
    })
  }
  const { smtpPort, httpPort } = options
  if (smtpPort === 'off' || httpPort === 'off') {
    throw new Fault('ConfigInvalid', {
      text: 'SMTP and HTTP cannot be off: mail comes by the one and is seen by the other',
    })
  }
  const dns = options.dns === undefined ? {} : { dns: recordsIn(options.dns) }
  const { startDev } = await import('#dev/dev.ts')
  const release = hold()
  const { host, dir, accept, allowHost, starttls, max } = options
  const wanted = Object.fromEntries(
    names.map(name => {
      const port = options[`${name}Port`]
      return [name, port === 'off' ? null : port]
    }),
  )
  const further = { ...dns, ...outward(options) }
  const running = await startDev({
    host,
    dir,
    accept,
    names: allowHost,
    starttls,
    max,
    ports: wanted,
    ...further,
  }).catch(error => {
    release()
    if (!(error instanceof Fault) || error.code !== 'PortInUse') throw error
    const text = `${error.message}. Is teal dev running already? --smtp-port, --http-port, --imap-port and --pop3-port take others, 0 a free one`
    throw new Fault('PortInUse', { text, cause: error })
  })
  process.stdout.write(await told(running, host))
  if (!stopping) await ended
  await running.close()
  process.exit(0)
}

/** What leaves this machine, where it was asked for. @throws Fault ConfigInvalid */
function outward({ webhook, releaseUrl: url, releaseTo: to = [] }: Options): Pick<DevOptions, 'webhook' | 'release'> {
  if (url === undefined && to.length > 0)
    throw new Fault('ConfigInvalid', { text: '--release-to says to whom, and --release-url must say by which server' })
  return { ...(webhook !== undefined && { webhook }), ...(url !== undefined && { release: { url, to } }) }
}

/** Records of a file. @throws Fault ConfigInvalid with what is wrong with it */
function recordsIn(file: string): Record<string, string | string[]> {
  const refuse = (why: string) => new Fault('ConfigInvalid', { text: `${file} ${why}` })
  let records: unknown
  try {
    records = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw refuse(`cannot be read: ${(error as Error).message}`)
  }
  const isText = (value: unknown) => [value].flat().every(one => typeof one === 'string')
  const good = typeof records === 'object' && records !== null && !Array.isArray(records)
  if (!good || !Object.values(records as object).every(isText))
    throw refuse('must have a text, or a list of texts, for each name')
  return records as Record<string, string | string[]>
}

async function told({ url, ports: open, host: service }: Dev, host: string): Promise<string> {
  const at = host.includes(':') ? `[${host}]` : host
  const places = names.flatMap(name =>
    name === 'http' || open[name] === undefined ? [] : [[name.toUpperCase(), open[name]]],
  )
  const { variables } = await import('#testing/variables.ts')
  const stacks = ['nodemailer', 'django', 'laravel', 'rails', 'spring'] as const
  const lines = stacks.map(stack => {
    const found = Object.entries(variables(service.port('smtp'), stack))
    return `  ${stack.padEnd(11)}${found.map(([name, value]) => `${name}=${value}`).join(' ')}`
  })
  return [
    'Teal takes mail from everybody for everybody, with any password; nothing leaves it. Ctrl+C ends it.',
    '',
    `  ${'page, API'.padEnd(11)}${url}`,
    ...places.map(([name, port]) => `  ${String(name).padEnd(11)}${at}:${port}`),
    '',
    'What an application is told:',
    '',
    ...lines,
    '',
    '',
  ].join('\n')
}
