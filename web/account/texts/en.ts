// English, which the other languages must have everything of.

export const en = {
  groups: { account: 'Account', security: 'Security', mail: 'Mail', data: 'Storage' },
  overview: {
    title: 'Overview',
    lead: 'Your account at a glance.',
    you: 'About you',
    name: 'Name',
    nameHint: 'As it stands before your address in what you send.',
    address: 'Main address',
    username: 'Username',
    storage: 'Storage',
    used: (used: string, allowed: string, part: string) => `${used} of ${allowed} used (${part})`,
    addresses: 'Addresses',
    addressesText: 'Mail to any of these arrives here.',
    main: 'Main address',
    limits: 'Today',
    recipients: 'Recipients',
    forwards: 'Forwarded',
    received: 'Received',
    of: (used: string, allowed: string) => `${used} of ${allowed}`,
  },
}

export type AccountTexts = typeof en
