// The thread that learns spam: models of accounts are read and changed here, far from any delivery.
//
// It reads committed rows through a handle of its own and writes nothing: what it learned goes back as rows for one unit, so
// that one that is ended half-way has learned nothing. A model for judging is handed out in memory that all threads see, and
// never changes: learning goes on one of its own. Kept ones are recognised by the number that every change raises. Learning goes in
// slices: deliveries that wait for a model come between them.

import { Fault } from '../src/lib/fault.ts'
import { limits } from '../src/lib/limits.ts'
import { remember } from '../src/lib/memoize.ts'
import { Pace } from '../src/lib/pace.ts'
import { serve, threadEnd } from '../src/lib/process/serve.ts'
import { type Features, featuresOf } from '../src/mail/spam/features.ts'
import { learn as learnInto, type Sample } from '../src/mail/spam/learning.ts'
import { modelBytes, type SpamModel } from '../src/mail/spam/model.ts'
import { packFeatures, unpackFeatures } from '../src/mail/spam/packed.ts'
import { isSealed, readSpamText } from '../src/mail/spam/spam-text.ts'
import type { SharedModel, SpamTasks } from '../src/mail/spam/tasks.ts'
import { BodyFiles } from '../src/store/bodies/files.ts'
import { openObjects } from '../src/store/bodies/objects/parts.ts'
import { readBody } from '../src/store/bodies/read.ts'
import { openDatabase } from '../src/store/engine/open.ts'
import type { Reader } from '../src/store/engine/reader.ts'
import { databaseOf, type Place } from '../src/store/folder/place.ts'
import {
  baseModel,
  experienceOf,
  keptMarks,
  type Learned,
  readModel,
  storedModel,
  type WaitingMark,
  waitingMarks,
} from '../src/store/rules/spam.ts'

const end = threadEnd<Place>()
let opened: { readonly read: Reader; readonly files: BodyFiles }

function open(): void {
  const place = end.given
  opened = { read: openDatabase(databaseOf(place)), files: new BodyFiles(place.dataDir, openObjects(place)) }
}

const known = new Map<number, SharedModel>()

/** For reading, by whoever judges; the latest that were asked for are kept. */
async function model({ user }: SpamTasks['model']['input']): Promise<SpamTasks['model']['value']> {
  const { read } = opened
  const experience = await experienceOf(read, user)
  const kept = known.get(user)
  known.delete(user)
  if (experience === undefined) return null
  const found = kept?.rev === experience.rev ? kept : { ...experience, memory: new SharedArrayBuffer(modelBytes) }
  if (found !== kept) await readModel(read, user, found.memory)
  remember(known, user, found, limits.spam.modelsMax)
  return found
}

async function learn({ user }: SpamTasks['learn']['input']): Promise<Learned> {
  const { read } = opened
  const fresh: (Sample & { mark: WaitingMark })[] = []
  const gone: number[] = []
  const pace = new Pace()
  for (const mark of await waitingMarks(read, user, limits.spam.batchMax)) {
    const features = mark.features === null ? await featuresIn(mark.body) : unpackFeatures(mark.features)
    if (features === undefined) gone.push(mark.reference)
    else fresh.push({ features, isSpam: mark.spam, mark })
    if (pace.spent) await pace.turn()
  }
  const kept: Sample[] = []
  for (const { spam, features } of await keptMarks(read, user, limits.spam.rehearsedMax)) {
    kept.push({ features: unpackFeatures(features), isSpam: spam })
    if (pace.spent) await pace.turn()
  }
  const own = await readModel(read, user)
  const changed = [await train(user, own, fresh, kept, pace)]
  // Nobody shapes what all share by much.
  if (own.spam + own.ham <= limits.spam.sharedMax)
    changed.push(await train(baseModel, await readModel(read, baseModel), fresh, kept, pace))
  const rows = fresh.map(({ features, isSpam, mark }) => {
    return { reference: mark.reference, body: mark.body, spam: isSpam, features: packFeatures(features) }
  })
  return { user, rows, gone, models: fresh.length === 0 ? [] : changed }
}

async function train(
  user: number,
  model: SpamModel,
  fresh: readonly (Sample & { mark: WaitingMark })[],
  kept: readonly Sample[],
  pace: Pace,
) {
  for (const { features, mark } of fresh) if (mark.counted !== null) model.count(features, mark.counted === 1, -1)
  await learnInto(model, fresh, kept, chance(model.spam + model.ham), pace)
  return storedModel(user, model)
}

/** Of a message that is there and that others than its owner can read. */
async function featuresIn(num: number): Promise<Features | undefined> {
  const { read, files } = opened
  try {
    const body = await readBody(read, files, num)
    const text = await readSpamText(Buffer.from(await body.read(0, Math.min(body.size, limits.spam.messageBytesMax))))
    const type = text.fields.find(([key]) => key === 'content-type')?.[1] ?? ''
    return isSealed(type) ? undefined : featuresOf(text)
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

/** Chance that is the same for the same experience. */
function chance(seed: number): () => number {
  let state = seed + 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

serve({ model, learn }, { end, open })
