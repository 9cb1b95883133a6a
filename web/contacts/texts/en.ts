// English, which the other languages must have everything of.
//
// What contacts say.

export const en = {
  title: 'Contacts',
  lead: 'People you keep. Their addresses are offered while you write.',
  search: 'Search contacts',
  add: 'New contact',
  none: 'No contacts yet',
  nothingFound: 'Nobody was found',
  count: (count: string) => `Contacts: ${count}`,
  group: 'Group',
  allGroups: 'All groups',
  select: (name: string) => `Select: ${name}`,
  selected: (count: string) => `${count} selected`,
  merge: 'Make one of them',
  mergeText: (names: string, name: string) =>
    `${names} become one contact with all their addresses and numbers. It is called ${name}.`,
  delete: 'Delete',
  name: 'Name',
  emails: 'Addresses',
  phones: 'Numbers',
  oneALine: 'One a line.',
  noAddress: (text: string) => `This is no address: ${text}`,
  groups: 'Groups',
  groupsHint: 'With commas between.',
  organization: 'Organization',
  position: 'Position',
  birthday: 'Birthday',
  note: 'Note',
  keep: 'Save',
  kept: 'Saved.',
  files: 'vCard files',
  filesText: 'As phones and other programs read and write them.',
  bring: 'Bring contacts from a file',
  brought: (added: string, replaced: string) => `Contacts added: ${added}, replaced: ${replaced}.`,
  takeAll: 'Download all contacts',
  takeGroup: (name: string) => `Download the group ${name}`,
  people: {
    title: 'Correspondents',
    lead: 'Whom you have written to or heard from, the latest first. They are offered while you write.',
    search: 'Search names and addresses',
    none: 'Nobody yet',
    keep: (address: string) => `Keep as a contact: ${address}`,
    kept: (name: string) => `${name} is a contact now.`,
    rename: (address: string) => `Change the name: ${address}`,
    hide: (address: string) => `Hide: ${address}`,
    hideText: 'The address is not offered any more, also when it is used again.',
    hideNow: 'Hide',
  },
}

export type ContactTexts = typeof en
