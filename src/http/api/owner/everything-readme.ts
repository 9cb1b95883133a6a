// The file in an archive of an account that says what is in it, for people who find it years later, perhaps with another service.

/** @param closed calls whose answers the caller may not read */
export function readme(username: string, time: number, closed: readonly string[]): string {
  const left =
    closed.length === 0 ? '' : `\nLeft out, since whoever fetched this may not read it:\n\n${lines(closed)}\n`
  return `Everything of the account ${username}, as it was on ${new Date(time).toISOString()}.

mail/                       All mail, a file for each folder, in the form that most mail programs
                            read (mbox, RFC 4155, mboxrd). Folders in folders are in folders. Each
                            message has fields that say its folder (X-Export-Mailbox) and its flags
                            (Status, X-Status, X-Keywords); the line before it says when it arrived.
contacts.vcf                Contacts, in the form that address books read (vCard 4.0).
files/                      Files that were stored with the account.
account.json                Name, language, settings, limits, forwarding, encryption keys.
addresses.json              Addresses, with their names and signatures.
folders.json                Folders, with their ids (filters name them), sizes and what they are for.
filters.json                Filters, in the order in which they are looked at.
autoreply.json              What is answered while away.
correspondents.json         Addresses that were written to or heard from.
application-passwords.json  Names of passwords for mail programs, what they open and when they were
                            used; the passwords themselves are kept nowhere.
security-keys.json          Names of security keys.
log.jsonl                   What happened around logins, a line each.
${left}
Names of files are those of folders and files as far as every computer can write them.

Not in it: passwords and other secrets (those in addresses that mail is forwarded to are left
out), deleted messages that are still kept (bring them back first), mail that waits to be sent.

What can be taken in again:

- mail/*.mbox      on the page (Storage and moving, "Bring mail from a file", several at once) or
                   with POST /users/:user/import/file?folders=true; folders are made, flags and
                   dates kept, and what is there already is not stored twice
- contacts.vcf     on the page (Contacts) or with POST /users/:user/contacts.vcf
- filters.json     each with POST /users/:user/filters; folders go by the ids of the new account,
                   so put those in the place of the old ones (folders.json says which is which)
- autoreply.json   with PUT /users/:user/autoreply
- addresses.json   name and signature of each with PUT /users/:user/addresses/:id
- files/           each with POST /users/:user/storage

Passwords, security keys and second factors are made anew.
`
}

function lines(closed: readonly string[]): string {
  return closed.map(path => `- GET ${path}`).join('\n')
}
