// Accounts in and out: everything of them but their mail, as a stream of MessagePack (api-semantics 10.3).
//
// An export is streamed account by account, never held whole. An import takes what is not there yet and says how many
// rows were; a row it cannot read hinders no other.

import { Type } from 'typebox'
import { type ExportForm, exportForms, type Transfer } from '#actors/admin/transfer.ts'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { binary } from '../../answer.ts'
import { endpoint } from '../../endpoint.ts'
import { id, list, oneOf, optional, text } from '../../schema.ts'

const { transfer: bounds } = limits

const formText =
  'documents: BSON, which other services with this call take, too; rows: ours alone, with security keys and a checksum. ' +
  'Both can be imported'

export interface TransferDeps {
  readonly transfer: Transfer
}

export function transferEndpoints({ transfer }: TransferDeps) {
  const chosen = {
    users: optional(list(id(), { max: bounds.chosenMax, description: 'Ids of accounts; all without' })),
    tags: optional(list(text({ max: 128 }), { max: bounds.chosenMax, description: 'Accounts with any of these tags' })),
    form: optional(oneOf(exportForms, { default: 'documents', description: formText })),
  }
  const run = ({ input }: { input: { users?: string[]; tags?: string[]; form?: ExportForm } }) => {
    const { users = null, tags = null, form = 'documents' } = input
    return binary({
      headers: { 'content-disposition': `attachment; filename=export.${form === 'rows' ? 'teal' : 'bin'}` },
      body: transfer.export({ users, tags }, now(), form),
    })
  }
  const about = {
    tag: 'Export and import',
    summary: 'Export accounts with their settings, addresses, mailboxes and filters, without mail',
    allow: 'export.create',
    replyType: 'application/octet-stream',
  } as const

  const get = endpoint({ method: 'GET', path: '/data/export', ...about, query: chosen, run })

  const post = endpoint({ method: 'POST', path: '/data/export', ...about, body: chosen, run })

  const take = endpoint({
    method: 'POST',
    path: '/data/import',
    tag: 'Export and import',
    summary: 'Import accounts from an export',
    description: 'The body is the export as it came. What is there already stays as it is.',
    allow: 'import.create',
    bodyKind: 'raw',
    bodyBytesMax: bounds.exportBytesMax,
    answerMs: bounds.importMs,
    reply: {
      success: Type.Optional(Type.Boolean()),
      result: Type.Object({
        entries: Type.Integer(),
        imported: Type.Integer(),
        failed: Type.Integer(),
        existing: Type.Integer(),
      }),
    },
    faults: ['INVALID_SEQUENCE', 'INVALID_DATA', 'ExportInvalid', 'UnsupportedMediaType', 'StorageUnavailable'],
    async run({ request, signal }) {
      const { contentType } = request
      if (contentType !== '' && contentType !== 'application/octet-stream' && contentType !== 'application/msgpack') {
        throw new Fault('UnsupportedMediaType', { text: 'An export is sent as application/octet-stream' })
      }
      return { result: await transfer.import(request.stream(), signal) }
    },
  })

  return [get, post, take]
}
