// What people call the folders that every account has, in English. Mail and account say the same.

export const folderNames = {
  INBOX: 'Inbox',
  '\\Sent': 'Sent',
  '\\Drafts': 'Drafts',
  '\\Junk': 'Junk',
  '\\Trash': 'Trash',
  '\\Archive': 'Archive',
}
