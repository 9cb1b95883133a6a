// What accounts said about spam by moving mail, and the models that were learned from it: the tables, their reads and writes.
//
// A mark stands in the unit of the move that made it; what is learned of it, its features and the model stand in one unit, so
// that a message is counted once, whenever the process ends. A mark that is taken back changes its row and waits again, and
// `counted` tells what has to be taken back from the model. Bounded: marks that wait, features that are kept to train beside
// new ones, rows that say what was learned already. Account 0 is the base that all share.

import { limits } from '#lib/limits.ts'
import { modelBytes, SpamModel } from '#mail/spam/model.ts'
import { compress, decompress } from '../bodies/format/zstd.ts'
import { boolean, bytes, integer, moment, nullable } from '../engine/column.ts'
import { bitOf, listRows, sumOf } from '../engine/dialect.ts'
import { defineProcedure } from '../engine/procedure.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'

/** Meaning of stored features and models; those of another one are not used. */
const version = 3

const marks = table(
  'spam_mark',
  {
    /** Number of the account. */
    user: integer,
    /** Hash of the Message-ID. */
    reference: integer,
    /** What the account says. */
    spam: boolean,
    /** What the model has counted: 1 spam, 0 ham, null nothing yet. */
    counted: nullable(integer),
    waits: boolean,
    body: integer,
    at: moment,
    /** Packed; null where they are not kept. */
    features: nullable(bytes),
  },
  {
    key: ['user', 'reference'],
    clustered: true,
    indexes: {
      spam_waiting: { on: ['user', 'at'], where: 'waits = 1' },
      spam_kept: { on: ['user', 'spam', 'at'], where: 'features IS NOT NULL' },
      spam_at: { on: ['user', 'at'] },
    },
  },
)

const models = table(
  'spam_model',
  {
    /** Number of the account; 0 for the base. */
    user: integer,
    /** Rises with every change. */
    rev: integer,
    version: integer,
    /** Messages learned. */
    spam: integer,
    ham: integer,
    data: bytes,
  },
  { key: ['user'] },
)

type Mark = RowOf<typeof marks>
export type WaitingMark = Pick<Mark, 'reference' | 'spam' | 'counted' | 'body' | 'features'>

export const baseModel = 0

const markAll = defineProcedure(
  'spam_mark_all',
  '_user bigint, _spam bigint, _at bigint, _references text, _bodies text, _most bigint',
  `DECLARE _left bigint; _reference bigint; _body bigint;
BEGIN
  _left := GREATEST(0, _most - (SELECT count(*) FROM spam_mark WHERE "user" = _user AND waits = 1));
  FOR _reference, _body IN SELECT r.value::bigint, b.value::bigint
    FROM ${listRows('_references')} AS r JOIN ${listRows('_bodies')} AS b ON b.key = r.key ORDER BY r.key LIMIT _left LOOP
    INSERT INTO spam_mark ("user", reference, spam, counted, waits, body, at, features)
      VALUES (_user, _reference, _spam, NULL, 1, _body, _at, NULL)
      ON CONFLICT ("user", reference) DO UPDATE SET spam = _spam, body = excluded.body, at = _at,
        waits = CASE WHEN spam_mark.counted IS DISTINCT FROM _spam THEN 1 ELSE 0 END;
  END LOOP;
END`,
)

/** What moving messages says. More than may wait is not learned. */
export const spamMark = defineWrite<{
  user: number
  spam: boolean
  at: number
  marks: readonly (readonly [reference: number, body: number])[]
}>(
  'spam.mark',
  (sql, { user, spam, at, marks: all }) => {
    const { n } = sql('SELECT count(*) AS n FROM spam_mark WHERE "user" = ? AND waits = 1').get(user) as { n: number }
    for (const [reference, body] of all.slice(0, Math.max(0, limits.spam.waitingMax - n))) {
      sql(`INSERT INTO spam_mark ("user", reference, spam, counted, waits, body, at, features)
      VALUES (@user, @reference, @spam, NULL, 1, @body, @at, NULL)
      ON CONFLICT ("user", reference) DO UPDATE SET spam = @spam, waits = ${bitOf('counted IS NOT @spam')}, body = @body, at = @at`).run(
        {
          ...{ user, reference, body, at },
          spam: spam ? 1 : 0,
        },
      )
    }
  },
  {
    told: (sql, { user, spam, at, marks: all }) => {
      const [references, bodies] = [0, 1].map(place => JSON.stringify(all.map(one => one[place])))
      sql(markAll.call).run(user, spam ? 1 : 0, at, references, bodies, limits.spam.waitingMax)
    },
  },
)

export interface LearnedModel {
  readonly user: number
  readonly spam: number
  readonly ham: number
  readonly data: Uint8Array
}

export interface Learned {
  readonly user: number
  readonly rows: readonly {
    readonly reference: number
    readonly body: number
    readonly spam: boolean
    readonly features: Uint8Array
  }[]
  /** Messages that are there no more. */
  readonly gone: readonly number[]
  readonly models: readonly LearnedModel[]
}

const ofLiving = `IF NOT EXISTS (SELECT 1 FROM "user" WHERE num = _user AND deleted IS NULL) THEN RETURN; END IF;`

const learnMark = defineProcedure(
  'spam_learn_mark',
  '_user bigint, _reference bigint, _spam bigint, _features bytea',
  `BEGIN
  ${ofLiving}
  UPDATE spam_mark SET counted = _spam, features = _features, waits = CASE WHEN spam <> _spam THEN 1 ELSE 0 END
    WHERE "user" = _user AND reference = _reference;
END`,
)

const forgetMark = defineProcedure(
  'spam_forget_mark',
  '_user bigint, _reference bigint',
  `BEGIN
  ${ofLiving}
  DELETE FROM spam_mark WHERE "user" = _user AND reference = _reference AND counted IS NULL;
  UPDATE spam_mark SET waits = 0, spam = counted WHERE "user" = _user AND reference = _reference;
END`,
)

const putModel = defineProcedure(
  'spam_model_put',
  '_user bigint, _owner bigint, _version bigint, _spam bigint, _ham bigint, _data bytea',
  `BEGIN
  ${ofLiving}
  INSERT INTO spam_model ("user", rev, version, spam, ham, data) VALUES (_owner, 1, _version, _spam, _ham, _data)
    ON CONFLICT ("user") DO UPDATE SET rev = spam_model.rev + 1, version = _version, spam = _spam, ham = _ham, data = _data;
END`,
)

const trimMarks = defineProcedure(
  'spam_mark_trim',
  '_user bigint, _kept bigint, _most bigint',
  `BEGIN
  ${ofLiving}
  FOR _spam IN 0 .. 1 LOOP
    UPDATE spam_mark SET features = NULL WHERE "user" = _user AND reference IN (SELECT reference FROM spam_mark
      WHERE "user" = _user AND spam = _spam AND features IS NOT NULL ORDER BY at DESC OFFSET _kept);
  END LOOP;
  DELETE FROM spam_mark WHERE "user" = _user AND waits = 0 AND reference IN
    (SELECT reference FROM spam_mark WHERE "user" = _user ORDER BY at DESC OFFSET _most);
END`,
)

/** Notes what was learned, all of it or nothing; for an account that is gone nothing. */
export const spamLearned = defineWrite<Learned>(
  'spam.learned',
  (sql, { user, rows, gone, models: changed }) => {
    if (sql('SELECT 1 FROM "user" WHERE num = ? AND deleted IS NULL').get(user) === undefined) return
    for (const { reference, spam, features } of rows) {
      sql(`UPDATE spam_mark SET counted = @spam, features = @features, waits = ${bitOf('spam <> @spam')}
      WHERE "user" = @user AND reference = @reference`).run({ user, reference, features, spam: spam ? 1 : 0 })
    }
    for (const reference of gone) {
      sql('DELETE FROM spam_mark WHERE "user" = ? AND reference = ? AND counted IS NULL').run(user, reference)
      sql('UPDATE spam_mark SET waits = 0, spam = counted WHERE "user" = ? AND reference = ?').run(user, reference)
    }
    for (const model of changed) {
      sql(`INSERT INTO spam_model ("user", rev, version, spam, ham, data) VALUES (@user, 1, @version, @spam, @ham, @data)
      ON CONFLICT ("user") DO UPDATE SET rev = rev + 1, version = @version, spam = @spam, ham = @ham, data = @data`).run(
        {
          ...model,
          version,
        },
      )
    }
    for (const spam of [0, 1]) {
      sql(`UPDATE spam_mark SET features = NULL WHERE "user" = @user AND reference IN
      (SELECT reference FROM spam_mark WHERE "user" = @user AND spam = @spam AND features IS NOT NULL
        ORDER BY at DESC LIMIT -1 OFFSET @kept)`).run({ user, spam, kept: limits.spam.keptMax })
    }
    sql(`DELETE FROM spam_mark WHERE "user" = @user AND waits = 0 AND reference IN
    (SELECT reference FROM spam_mark WHERE "user" = @user ORDER BY at DESC LIMIT -1 OFFSET @kept)`).run({
      user,
      kept: limits.spam.marksMax,
    })
  },
  {
    told: (sql, { user, rows, gone, models: changed }) => {
      for (const { reference, spam, features } of rows) {
        sql(learnMark.call).run(user, reference, spam ? 1 : 0, features)
      }
      for (const reference of gone) sql(forgetMark.call).run(user, reference)
      for (const model of changed) sql(putModel.call).run(user, model.user, version, model.spam, model.ham, model.data)
      sql(trimMarks.call).run(user, limits.spam.keptMax, limits.spam.marksMax)
    },
  },
)

/** The next account after `last` that has something to learn; undefined where nobody has. */
export async function waitingAccount(read: Reader, last: number): Promise<number | undefined> {
  const after = (user: number) =>
    read.one<{ user: number }>(
      'SELECT "user" FROM spam_mark WHERE waits = 1 AND "user" > ? ORDER BY "user" LIMIT 1',
      user,
    )
  return ((await after(last)) ?? (await after(0)))?.user
}

/** Marks of all accounts that wait, up to `max`. */
export async function countWaiting(read: Reader, max: number): Promise<number> {
  const text = 'SELECT count(*) AS n FROM (SELECT 1 FROM spam_mark WHERE waits = 1 LIMIT ?)'
  return (await read.one<{ n: number }>(text, max))?.n ?? 0
}

export async function waitingMarks(read: Reader, user: number, count: number): Promise<WaitingMark[]> {
  return await marks.all(read, 'WHERE "user" = ? AND waits = 1 ORDER BY at LIMIT ?', user, count)
}

/** The latest that were learned, packed, of each kind. */
export async function keptMarks(
  read: Reader,
  user: number,
  count: number,
): Promise<{ spam: boolean; features: Buffer }[]> {
  const text = 'WHERE "user" = ? AND spam = ? AND waits = 0 AND features IS NOT NULL ORDER BY at DESC LIMIT ?'
  const kept: { spam: boolean; features: Buffer }[] = []
  for (const spam of [1, 0]) {
    const rows = await marks.all(read, text, user, spam, count)
    for (const { features } of rows) if (features !== null) kept.push({ spam: spam === 1, features })
  }
  return kept
}

/** How much a model has learned. */
export interface SpamExperience {
  readonly rev: number
  readonly spam: number
  readonly ham: number
}

export async function experienceOf(read: Reader, user: number): Promise<SpamExperience | undefined> {
  const text = 'SELECT rev, spam, ham FROM spam_model WHERE "user" = ? AND version = ?'
  return await read.one<{ rev: number; spam: number; ham: number }>(text, user, version)
}

/** A stored model; one that learned nothing where there is none. It lies in `memory` where that is given. */
export async function readModel(read: Reader, user: number, memory?: SharedArrayBuffer): Promise<SpamModel> {
  const row = await models.one(read, 'WHERE "user" = ? AND version = ?', user, version)
  if (row === undefined) return new SpamModel(undefined, memory)
  const model = new SpamModel(decompress(row.data, modelBytes), memory)
  model.spam = row.spam
  model.ham = row.ham
  return model
}

/** A model as it is stored. */
export function storedModel(user: number, model: SpamModel): LearnedModel {
  return { user, spam: model.spam, ham: model.ham, data: compress(model.bytes()) }
}

checkParts.push({
  rules: [
    {
      says: 'every mark of spam and every model has its account',
      query: `SELECT "user" FROM spam_mark AS o WHERE NOT EXISTS (SELECT 1 FROM "user" AS i WHERE i.num = o."user")
        UNION SELECT "user" FROM spam_model WHERE "user" <> 0 AND "user" NOT IN (SELECT num FROM "user")`,
    },
    {
      says: 'a mark of spam waits until the model has counted what it says',
      query: `SELECT "user" || ':' || reference FROM spam_mark WHERE waits <> ${bitOf('counted IS NOT spam')}`,
    },
    {
      says: 'a model has counted what its marks say',
      query: `SELECT k."user" FROM (SELECT "user", ${sumOf('counted = 1')} AS spam, ${sumOf('counted = 0')} AS ham FROM spam_mark
          WHERE counted IS NOT NULL GROUP BY "user") k
        LEFT JOIN spam_model m ON m."user" = k."user" WHERE m."user" IS NULL OR k.spam > m.spam OR k.ham > m.ham`,
    },
  ],
})
