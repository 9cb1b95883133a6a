// Scenarios: filters and autoreplies.

import { scenario, type World } from './world.ts'

async function addFilter(world: World, action: object = { seen: true }) {
  const { id: user } = await world.user()
  const { id: filter } = await world.ok('POST', `/users/${user}/filters`, { query: { from: 'a@example.net' }, action })
  return { user, filter }
}

const answer = { status: true, subject: 'Away', text: 'Back on Monday' }

export const ruleScenarios = [
  scenario({
    event: 'filter.created',
    name: 'POST /users/:user/filters',
    act: world => addFilter(world),
    also: ['user.created'],
  }),
  scenario({
    event: 'filter.updated',
    name: 'PUT /users/:user/filters/:filter',
    prepare: world => addFilter(world),
    async act(world, known) {
      await world.ok('PUT', `/users/${known.user}/filters/${known.filter}`, { disabled: true })
      return known
    },
  }),
  scenario({
    event: 'filter.deleted',
    name: 'DELETE /users/:user/filters/:filter',
    prepare: world => addFilter(world),
    async act(world, known) {
      await world.ok('DELETE', `/users/${known.user}/filters/${known.filter}`)
      return known
    },
  }),
  scenario({
    event: 'filter.deleted',
    name: 'DELETE of the mailbox it moves mail to',
    async prepare(world) {
      const { id: user } = await world.user()
      const { id: mailbox } = await world.ok('POST', `/users/${user}/mailboxes`, { path: 'Lists' })
      const form = { query: { from: 'a@example.net' }, action: { mailbox } }
      const { id: filter } = await world.ok('POST', `/users/${user}/filters`, form)
      return { user, filter, mailbox }
    },
    async act(world, { user, filter, mailbox }) {
      await world.ok('DELETE', `/users/${user}/mailboxes/${mailbox}`)
      return { user, filter }
    },
    also: ['mailbox.deleted'],
  }),
  scenario({
    event: 'forward.added',
    name: 'POST /users/:user/filters with a target',
    prepare: world => world.user(),
    async act(world, { id: user }) {
      const target = 'copy@example.net'
      const form = { query: { subject: 'invoice' }, action: { targets: [target] } }
      const { id: filter } = await world.ok('POST', `/users/${user}/filters`, form)
      return { user, type: 'filter', target, filter }
    },
    also: ['filter.created'],
  }),
  scenario({
    event: 'forward.added',
    name: 'PUT /users/:user/filters/:filter with one target more',
    prepare: world => addFilter(world, { targets: ['one@example.net'] }),
    async act(world, { user, filter }) {
      const targets = ['one@example.net', 'two@example.net']
      await world.ok('PUT', `/users/${user}/filters/${filter}`, { action: { targets } })
      return { user, type: 'filter', target: 'two@example.net', filter }
    },
    also: ['filter.updated'],
  }),
  scenario({
    event: 'autoreply.user.enabled',
    name: 'PUT /users/:user/autoreply, once',
    prepare: world => world.user(),
    async act(world, { id }) {
      await world.ok('PUT', `/users/${id}/autoreply`, answer)
      await world.ok('PUT', `/users/${id}/autoreply`, { status: true, subject: 'Still away' })
      return { user: id }
    },
  }),
  scenario({
    event: 'autoreply.user.disabled',
    name: 'DELETE /users/:user/autoreply',
    async prepare(world) {
      const user = await world.user()
      await world.ok('PUT', `/users/${user.id}/autoreply`, answer)
      return user
    },
    async act(world, { id }) {
      await world.ok('DELETE', `/users/${id}/autoreply`)
      return { user: id }
    },
  }),
]
