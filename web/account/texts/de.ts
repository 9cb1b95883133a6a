// Deutsch.

import type { AccountTexts } from './en.ts'

export const de: AccountTexts = {
  groups: { account: 'Konto', security: 'Sicherheit', mail: 'Mail', data: 'Speicher' },
  overview: {
    title: 'Übersicht',
    lead: 'Ihr Konto auf einen Blick.',
    you: 'Über Sie',
    name: 'Name',
    nameHint: 'Wie er vor Ihrer Adresse steht, wenn Sie etwas senden.',
    address: 'Hauptadresse',
    username: 'Benutzername',
    storage: 'Speicher',
    used: (used, allowed, part) => `${used} von ${allowed} belegt (${part})`,
    addresses: 'Adressen',
    addressesText: 'Mail an jede von diesen kommt hier an.',
    main: 'Hauptadresse',
    limits: 'Heute',
    recipients: 'Empfänger',
    forwards: 'Weitergeleitet',
    received: 'Empfangen',
    of: (used, allowed) => `${used} von ${allowed}`,
  },
}
