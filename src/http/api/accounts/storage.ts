// Stored files over HTTP: upload once, attach often (api-semantics 5).
//
// Content comes as raw bytes of any type, as base64 or text in JSON, or as a part of a form; raw bytes stream to the store
// without being held. What is given back is never shown as a page of this origin, whatever its type says.

import { Type } from 'typebox'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { createFile, deleteFiles, readFile } from '#actors/user/files.ts'
import { now } from '#lib/clock.ts'
import { Fault, invalid } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { mimeTypes } from '#lib/process/lazy.ts'
import { countFiles, listFiles } from '#store/accounts/file.ts'
import type { Bodies, Intake, Received } from '#store/bodies/bodies.ts'
import { counted } from '#store/engine/counted.ts'
import type { Reader } from '#store/engine/reader.ts'
import { ranged, rangedHeaders } from '../../answer.ts'
import { pagedCounted } from '../../cursor.ts'
import { anyType, endpoint, type Request } from '../../endpoint.ts'
import { content, id, moment, oneOf, optional, pageReply, paging, text, userId } from '../../schema.ts'
import { dispositionOf, headerText } from '../messages/disposition.ts'
import { requireUser } from '../messages/mailboxes.ts'

export interface StorageDeps {
  readonly system: ActorSystem
  readonly bodies: Bodies
}

const { fileBytesMax, filenameLengthMax } = limits.storage
const fileId = id({ description: 'Id of the file' })

export function storageEndpoints({ system, bodies }: StorageDeps) {
  const { read } = system

  const upload = endpoint({
    method: 'POST',
    path: '/users/:user/storage',
    tag: 'Storage',
    summary: 'Store a file',
    description: 'The body is the file itself, or JSON or a form with a field `content`. Counted against the quota.',
    allow: 'storage.create',
    bodyKind: 'upload',
    params: { user: userId },
    body: {
      filename: optional(text({ max: filenameLengthMax, trim: true, description: 'Name of the file' })),
      contentType: optional(text({ max: 255, trim: true, pattern: mediaType, description: 'Media type of the file' })),
      encoding: optional(oneOf(['base64'], { description: 'How `content` is written' })),
      content: optional(content(fileBytesMax * 2, { description: 'The file, unless the body itself is it' })),
      cid: optional(text({ max: 255, trim: true, description: 'Content-ID for pictures in HTML' })),
    },
    reply: { id: fileId },
    faults: ['UserNotFound', 'OverQuotaError', 'TooManyFiles'],
    async run({ input, request, signal }) {
      await requireUser(read, input.user)
      const received = await receive(bodies, request, input)
      try {
        const { filename, type } = described(input, request)
        const cid = input.cid?.replace(/^<|>$/g, '') || null
        const file = { filename, type, cid, size: received.size, content: received.bodyRow(0) }
        return await system.handle(input.user).run(createFile, file, signal)
      } finally {
        await received.discard()
      }
    },
  })

  const list = endpoint({
    method: 'GET',
    path: '/users/:user/storage',
    anywhere: true,
    tag: 'Storage',
    summary: 'List stored files by name',
    allow: 'storage.read',
    open: true,
    params: { user: userId },
    query: { query: optional(text({ max: 255, description: 'Part of the name' })), ...paging },
    reply: {
      ...pageReply,
      query: Type.Optional(Type.String()),
      results: Type.Array(
        Type.Object({
          id: fileId,
          filename: Type.String(),
          contentType: Type.String(),
          cid: Type.Optional(Type.String()),
          size: Type.Integer(),
          created: moment,
        }),
      ),
    },
    faults: ['UserNotFound'],
    async run({ input }) {
      const user = await requireUser(read, input.user)
      const page = { user: user.num, query: input.query ?? '' }
      const found = async (picture: Reader) => (await countFiles(picture, page)).found
      const { rows, ...cursors } = await pagedCounted(input, {
        key: ['string', 'string'],
        fetch: (boundary, direction, count) =>
          counted(read, found, picture =>
            listFiles(
              picture,
              page,
              boundary === null ? null : [String(boundary[0]), String(boundary[1])],
              direction,
              count,
            ),
          ),
        boundary: file => [file.filename, file.id],
      })
      const results = rows.map(file => ({
        id: file.id,
        filename: file.filename,
        contentType: file.type,
        cid: file.cid ?? undefined,
        size: file.size,
        created: new Date(file.created).toISOString(),
      }))
      return { query: input.query, ...cursors, results }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/users/:user/storage/:file',
    anywhere: true,
    tag: 'Storage',
    summary: 'Get the content of a stored file, all or a range of it',
    allow: 'storage.read',
    params: { user: userId, file: fileId },
    headers: rangedHeaders,
    replyType: anyType,
    faults: ['UserNotFound', 'FileNotFound', 'RangeNotSatisfiable'],
    async run({ input, request }) {
      await requireUser(read, input.user)
      const file = await readFile({ read, bodies }, input.user, input.file)
      if (file === undefined) throw new Fault('FileNotFound')
      const headers = {
        'content-type': file.type,
        'content-disposition': dispositionOf(file.filename),
        'content-id': file.cid === null ? undefined : `<${headerText(file.cid)}>`,
        'content-security-policy': "default-src 'none'; sandbox",
        'cache-control': 'private, no-cache',
      }
      return ranged(name => request.header(name), {
        size: file.size,
        etag: file.id,
        headers,
        open: (start, end) => file.stream(start, end),
      })
    },
  })

  const remove = endpoint({
    method: 'DELETE',
    path: '/users/:user/storage/:file',
    tag: 'Storage',
    summary: 'Delete a stored file',
    allow: 'storage.delete',
    params: { user: userId, file: fileId },
    faults: ['UserNotFound', 'FileNotFound'],
    async run({ input, signal }) {
      await system.handle(input.user).run(deleteFiles, { ids: [input.file], strict: true }, signal)
      return {}
    },
  })

  return [upload, list, get, remove]
}

/** `type/subtype`, with parameters or without (RFC 9110 8.3.1). */
const mediaType = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+([ \t]*;[\x20-\x7e]*)?$/

interface Given {
  readonly filename?: string
  readonly contentType?: string
  readonly encoding?: 'base64'
  readonly content?: Buffer | string
}

async function receive(bodies: Bodies, request: Request, input: Given): Promise<Received> {
  const intake = bodies.intakeExact(fileBytesMax)
  try {
    if (request.raw && input.encoding === undefined) {
      for await (const chunk of request.stream()) await intake.write(chunk)
    } else {
      await intake.write(decoded(request.raw ? await request.body() : input.content, input.encoding))
    }
    return await whole(intake)
  } catch (error) {
    await intake.abort()
    if (error instanceof Fault && error.code === 'MessageTooLarge') throw new Fault('BodyTooLarge')
    throw error
  }
}

async function whole(intake: Intake): Promise<Received> {
  if (intake.size === 0) throw invalid('content', 'is required')
  return intake.finish()
}

function decoded(given: Buffer | string | undefined, encoding: 'base64' | undefined): Buffer {
  if (given === undefined) throw invalid('content', 'is required')
  if (encoding === 'base64') {
    const base64 = given.toString('latin1')
    if (/[^A-Za-z0-9+/=_\s-]/.test(base64)) throw invalid('content', 'must be a valid base64 string')
    return Buffer.from(base64, 'base64')
  }
  return typeof given === 'string' ? Buffer.from(given) : given
}

/** Name and type, each from the other where only one is known (api-semantics 5.1). */
function described(input: Given, request: Request): { filename: string; type: string } {
  const own = request.raw && mediaType.test(request.contentType) ? request.contentType : ''
  const named = input.filename === undefined ? false : mimeTypes().lookup(input.filename)
  const type = input.contentType ?? (own !== '' && own !== octets ? own : named || octets)
  const extension = mimeTypes().extension(type) || 'bin'
  const filename = input.filename ?? `upload-${new Date(now()).toISOString().slice(0, 10)}.${extension}`
  return { filename: filename.toWellFormed(), type }
}

const octets = 'application/octet-stream'
