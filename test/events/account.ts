// Scenarios: accounts, their addresses and folders, and the end of an account.

import { scenario, type World } from './world.ts'

async function addAddress(world: World) {
  const { id: user } = await world.user()
  const value = `${world.unique('second')}@example.com`
  const { id: address } = await world.ok('POST', `/users/${user}/addresses`, { address: value })
  return { user, address, value }
}

async function addMailbox(world: World, path: string) {
  const { id: user } = await world.user()
  const { id: mailbox } = await world.ok('POST', `/users/${user}/mailboxes`, { path })
  return { user, mailbox, path }
}

export const accountScenarios = [
  scenario({
    event: 'user.created',
    name: 'POST /users',
    async act(world) {
      const form = { username: 'ann', name: 'Ann Example', address: 'Ann.Example@example.com', password: 'long enough' }
      const { id } = await world.ok('POST', '/users', form)
      return { user: id, username: 'ann', name: 'Ann Example', address: 'Ann.Example@example.com' }
    },
  }),
  scenario({
    event: 'user.created',
    name: 'POST /users without a name',
    async act(world) {
      const { id, name, address } = await world.user('nameless')
      return { user: id, username: name, address }
    },
  }),
  scenario({
    event: 'user.password.changed',
    name: 'PUT /users/:user with a password',
    prepare: world => world.user(),
    async act(world, { id }) {
      await world.ok('PUT', `/users/${id}`, { password: 'another password', name: 'With a name' })
      return { user: id }
    },
  }),
  scenario({
    event: 'user.delete.started',
    name: 'DELETE /users/:user',
    prepare: world => world.user(),
    async act(world, { id }) {
      const deleteAfter = '2100-01-02T03:04:05.000Z'
      const { task } = await world.ok('DELETE', `/users/${id}?deleteAfter=${deleteAfter}`)
      return { user: id, result: { user: id, addresses: { deleted: 1 }, deleteAfter, task } }
    },
  }),
  scenario({
    event: 'user.delete.cancelled',
    name: 'POST /users/:user/restore',
    async prepare(world) {
      const user = await world.user()
      return { ...user, ...(await world.ok('DELETE', `/users/${user.id}?deleteAfter=2100-01-01`)) }
    },
    async act(world, { id, address, task }) {
      await world.ok('POST', `/users/${id}/restore`)
      return { user: id, result: { user: id, task, addresses: { recovered: 1, main: address } } }
    },
  }),
  scenario({
    event: 'user.delete.completed',
    name: 'DELETE /users/:user, when all is gone',
    async prepare(world) {
      const user = await world.user()
      await world.ok('POST', `/users/${user.id}/asps`, { description: 'Phone' })
      await world.ok('POST', `/users/${user.id}/mailboxes/${await world.mailbox(user.id, 'INBOX')}/messages`, {
        text: 'hello',
      })
      return user
    },
    async act(world, { id }) {
      const { task } = await world.ok('DELETE', `/users/${id}`)
      const gone = { mailboxes: 5, asps: 1, filters: 0, autoreplies: 0, addressregister: 0, messages: 1 }
      const more = { files: 0, tokens: 0, webhooks: 0 }
      const counts = Object.fromEntries(
        Object.entries({ ...gone, ...more }).map(([key, deleted]) => [key, { deleted }]),
      )
      return { user: id, result: { user: id, task, ...counts } }
    },
    also: ['user.delete.started'],
  }),
  scenario({
    event: 'address.user.created',
    name: 'POST /users/:user/addresses',
    prepare: world => world.user(),
    async act(world, { id: user }) {
      const value = 'Second.One@example.com'
      const { id: address } = await world.ok('POST', `/users/${user}/addresses`, { address: value })
      return { user, address, value }
    },
  }),
  scenario({
    event: 'address.user.deleted',
    name: 'DELETE /users/:user/addresses/:address',
    prepare: addAddress,
    async act(world, known) {
      await world.ok('DELETE', `/users/${known.user}/addresses/${known.address}`)
      return known
    },
  }),
  scenario({
    event: 'forward.added',
    name: 'POST /users with a target',
    async act(world) {
      const { id } = await world.user('forwarding', { targets: ['away@example.net'] })
      return { user: id, type: 'user', target: 'away@example.net' }
    },
    also: ['user.created'],
  }),
  scenario({
    event: 'forward.added',
    name: 'PUT /users/:user with one target more',
    prepare: world => world.user('forwarding', { targets: ['away@example.net'] }),
    async act(world, { id }) {
      const target = 'https://hook.example.net/in?a=b'
      await world.ok('PUT', `/users/${id}`, { targets: ['away@example.net', target] })
      return { user: id, type: 'user', target }
    },
  }),
  scenario({
    event: 'mailbox.created',
    name: 'POST /users/:user/mailboxes',
    prepare: world => world.user(),
    async act(world, { id: user }) {
      const { id: mailbox } = await world.ok('POST', `/users/${user}/mailboxes`, { path: 'Work/Möbel' })
      return { user, mailbox, path: 'Work/Möbel' }
    },
  }),
  scenario({
    event: 'mailbox.renamed',
    name: 'PUT /users/:user/mailboxes/:mailbox with a path',
    prepare: world => addMailbox(world, 'Before'),
    async act(world, { user, mailbox }) {
      await world.ok('PUT', `/users/${user}/mailboxes/${mailbox}`, { path: 'After' })
      return { user, mailbox, previous: 'Before', current: 'After' }
    },
  }),
  scenario({
    event: 'mailbox.deleted',
    name: 'DELETE /users/:user/mailboxes/:mailbox',
    prepare: world => addMailbox(world, 'Done'),
    async act(world, known) {
      await world.ok('DELETE', `/users/${known.user}/mailboxes/${known.mailbox}`)
      return known
    },
  }),
  scenario({
    event: 'mailbox.created',
    name: 'IMAP CREATE',
    prepare: world => world.user(),
    async act(world, user) {
      await world.imap(user, 'CREATE "Work/M&APY-bel"')
      return { user: user.id, mailbox: await world.mailbox(user.id, 'Work/Möbel'), path: 'Work/Möbel' }
    },
    also: ['authentication.succeeded'],
  }),
  scenario({
    event: 'mailbox.renamed',
    name: 'IMAP RENAME',
    async prepare(world) {
      const user = await world.user()
      await world.ok('POST', `/users/${user.id}/mailboxes`, { path: 'Before' })
      return user
    },
    async act(world, user) {
      await world.imap(user, 'RENAME Before After')
      const mailbox = await world.mailbox(user.id, 'After')
      return { user: user.id, mailbox, previous: 'Before', current: 'After' }
    },
    also: ['authentication.succeeded'],
  }),
  scenario({
    event: 'mailbox.deleted',
    name: 'IMAP DELETE',
    async prepare(world) {
      const user = await world.user()
      const { id: mailbox } = await world.ok('POST', `/users/${user.id}/mailboxes`, { path: 'Done' })
      return { user, mailbox }
    },
    async act(world, { user, mailbox }) {
      await world.imap(user, 'DELETE Done')
      return { user: user.id, mailbox, path: 'Done' }
    },
    also: ['authentication.succeeded'],
  }),
]
