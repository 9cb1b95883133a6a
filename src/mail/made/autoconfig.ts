// What mail programs ask for when an account is set up: Mozilla's autoconfig (config-v1.1) and Microsoft's autodiscover
// (POX, MS-OXDSCLI 2.2.4).
//
// Pure text from one description of the servers; every value is escaped, and what is read is looked at within bounds.

export interface SetupServer {
  readonly kind: 'imap' | 'pop3' | 'smtp'
  readonly host: string
  readonly port: number
  readonly security: 'tls' | 'starttls' | 'none'
}

export interface Setup {
  /** Domain of the address, or of the service where none was given. */
  readonly domain: string
  /** The address; empty where it is not known: programs then fill in their own. */
  readonly address: string
  readonly displayName: string
  /** In the order in which programs should prefer them. */
  readonly servers: readonly SetupServer[]
}

const sockets = { tls: 'SSL', starttls: 'STARTTLS', none: 'plain' } as const

/** The answer to `mail/config-v1.1.xml`. */
export function thunderbirdXml({ domain, address, displayName, servers }: Setup): string {
  const login = address === '' ? '%EMAILADDRESS%' : address
  const shown = servers.map(({ kind, host, port, security }) => {
    const name = kind === 'smtp' ? 'outgoingServer' : 'incomingServer'
    return `    <${name} type="${kind}">
      <hostname>${escaped(host)}</hostname>
      <port>${port}</port>
      <socketType>${sockets[security]}</socketType>
      <username>${escaped(login)}</username>
      <authentication>password-cleartext</authentication>
    </${name}>`
  })
  return `<?xml version="1.0" encoding="UTF-8"?>
<clientConfig version="1.1">
  <emailProvider id="${escaped(domain)}">
    <domain>${escaped(domain)}</domain>
    <displayName>${escaped(displayName)}</displayName>
    <displayShortName>${escaped(displayName)}</displayShortName>
${shown.join('\n')}
  </emailProvider>
</clientConfig>
`
}

const kinds = { imap: 'IMAP', pop3: 'POP3', smtp: 'SMTP' } as const

/** The answer to autodiscover.xml. */
export function autodiscoverXml({ address, displayName, servers }: Setup): string {
  const shown = servers.map(({ kind, host, port, security }) => {
    const secure =
      security === 'tls'
        ? '<SSL>on</SSL>'
        : `<SSL>off</SSL>${security === 'starttls' ? '<Encryption>TLS</Encryption>' : ''}`
    return `      <Protocol>
        <Type>${kinds[kind]}</Type>
        <Server>${escaped(host)}</Server>
        <Port>${port}</Port>
        <LoginName>${escaped(address)}</LoginName>
        <DomainRequired>off</DomainRequired>
        <SPA>off</SPA>
        ${secure}
        <AuthRequired>on</AuthRequired>
      </Protocol>`
  })
  return `<?xml version="1.0" encoding="utf-8"?>
<Autodiscover xmlns="http://schemas.microsoft.com/exchange/autodiscover/responseschema/2006">
  <Response xmlns="http://schemas.microsoft.com/exchange/autodiscover/outlook/responseschema/2006a">
    <User>
      <DisplayName>${escaped(displayName)}</DisplayName>
    </User>
    <Account>
      <AccountType>email</AccountType>
      <Action>settings</Action>
${shown.join('\n')}
    </Account>
  </Response>
</Autodiscover>
`
}

/** The address in a request for autodiscover; empty where it holds none. */
export function autodiscoverAddress(xml: string): string {
  const found = /<(?:\w{1,32}:)?EMailAddress>\s*([^<>\s]{1,320})\s*</i.exec(xml)
  return (found?.[1] ?? '').replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => entities[name] ?? '')
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function escaped(text: string): string {
  return text
    .replace(/[\x00-\x1f\x7f]/g, '')
    .replace(/[&<>"']/g, one => `&${Object.keys(entities).find(name => entities[name] === one)};`)
}
