// What people call the folders that every account has, in Arabic.

import type { folderNames as english } from './en.ts'

export const folderNames: typeof english = {
  INBOX: 'الوارد',
  '\\Sent': 'المرسل',
  '\\Drafts': 'المسودات',
  '\\Junk': 'غير المرغوب',
  '\\Trash': 'المهملات',
  '\\Archive': 'الأرشيف',
}
