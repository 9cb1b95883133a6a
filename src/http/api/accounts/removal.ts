// The end of an account over HTTP, and the way back (api-semantics 10.7).
//
// A deleted account is gone for every other call at once. Its data are taken away by a task, whose result counts them by
// kind; until that has begun the account can come back.

import { Type } from 'typebox'
import type { AuthLog } from '#actors/auth/auth-log.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { deleteUser, freeAddresses, restoreUser } from '#actors/user/removal.ts'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { findUser, readUsage } from '#store/accounts/users.ts'
import { endpoint } from '../../endpoint.ts'
import { date, id, moment, optional, orFalse, userId } from '../../schema.ts'
import { type Behind, originOf } from '../auth/factor-fields.ts'
import type { TaskStarter } from './users.ts'

export interface RemovalDeps {
  readonly system: ActorSystem
  readonly tasks: TaskStarter
  readonly authLog: AuthLog
}

const taskId = id({ description: 'Id of the task that takes the data away' })

export function removalEndpoints({ system, tasks, authLog }: RemovalDeps) {
  const { read } = system

  async function note(action: string, call: Behind & { readonly input: { readonly user: string } }): Promise<void> {
    const user = await findUser(read, call.input.user)
    if (user !== undefined) await authLog.add(user.num, { action, result: 'success', ...originOf(call) })
  }

  const remove = endpoint({
    method: 'DELETE',
    path: '/users/:user',
    tag: 'Users',
    summary: 'Delete a user',
    description:
      'Name and addresses are free at once, the data go at or after `deleteAfter`; until then it can come back.',
    allow: 'users.delete',
    domains: true,
    params: { user: userId },
    query: { deleteAfter: optional(orFalse(date({ description: 'When the data go; at once where absent' }))) },
    reply: {
      code: Type.String(),
      user: userId,
      addresses: Type.Object({ deleted: Type.Integer() }),
      deleteAfter: moment,
      task: taskId,
    },
    faults: ['UserNotFound'],
    async run({ input, caller, request, signal }) {
      const deleted = await system.handle(input.user).run(deleteUser, { after: input.deleteAfter || null }, signal)
      tasks.kick()
      // What goes at once takes its log along.
      if (Date.parse(deleted.deleteAfter) > now()) await note('delete user', { input, caller, request })
      return { code: 'TaskScheduled', ...deleted }
    },
  })

  const info = endpoint({
    method: 'GET',
    path: '/users/:user/restore',
    tag: 'Users',
    summary: 'What would come back of a deleted user',
    allow: 'users.read',
    params: { user: userId },
    reply: {
      user: userId,
      username: Type.String(),
      storageUsed: Type.Integer(),
      tags: Type.Array(Type.String()),
      deleted: moment,
      recoverableAddresses: Type.Array(Type.String()),
    },
    faults: ['AccountNotFound'],
    async run({ input }) {
      const user = await findUser(read, input.user)
      if (user === undefined || user.deleted === null) throw new Fault('AccountNotFound')
      const free = await freeAddresses(read, user.deleted.addresses)
      const { storage } = await readUsage(read, user.num)
      return {
        user: user.id,
        username: user.deleted.username,
        storageUsed: storage,
        tags: user.tags,
        deleted: new Date(user.deleted.at).toISOString(),
        recoverableAddresses: free.map(one => one.address),
      }
    },
  })

  const restore = endpoint({
    method: 'POST',
    path: '/users/:user/restore',
    tag: 'Users',
    summary: 'Bring a deleted user back',
    allow: 'users.update',
    params: { user: userId },
    reply: {
      code: Type.String(),
      user: userId,
      task: taskId,
      addresses: Type.Object({ recovered: Type.Integer(), main: Type.Optional(Type.String()) }),
    },
    faults: [
      'AccountNotFound',
      'AccountFound',
      'DeleteInProgress',
      'UserExistsError',
      'AddressExistsError',
      'DomainLimit',
    ],
    async run({ input, caller, request, signal }) {
      const restored = await system.handle(input.user).run(restoreUser, undefined, signal)
      await note('restore user', { input, caller, request })
      return { code: 'TaskCancelled', ...restored }
    },
  })

  return [remove, info, restore]
}
