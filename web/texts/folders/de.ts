// What people call the folders that every account has, in German.

import type { folderNames as english } from './en.ts'

export const folderNames: typeof english = {
  INBOX: 'Posteingang',
  '\\Sent': 'Gesendet',
  '\\Drafts': 'Entwürfe',
  '\\Junk': 'Spam',
  '\\Trash': 'Papierkorb',
  '\\Archive': 'Archiv',
}
