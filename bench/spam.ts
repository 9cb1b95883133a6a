// How well spam is told from other mail, and how fast: `npm run bench -- spam --corpus FOLDER`, with files in FOLDER/ham and
// FOLDER/spam (mbox folders are not read). Without a corpus there is nothing to judge and nothing is measured.
//
// Messages of one thread, and such that say nearly the same, are kept on one side of every split. A quarter of these groups
// is held out: it was looked at once, after constants had been chosen. Learned is as the service does: some messages at a
// time, beside those that are kept, also where a user brings all of one kind first.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { limits } from '#lib/limits.ts'
import { type Features, featuresOf } from '#mail/spam/features.ts'
import { learn, type Sample } from '#mail/spam/learning.ts'
import { modelBytes, SpamModel } from '#mail/spam/model.ts'
import { readSpamText } from '#mail/spam/spam-text.ts'
import { baseSubject } from '#mail/text/subject.ts'
import type { Plan } from './plan.ts'
import type { Row } from './row.ts'
import { makeFolder, removeFolder } from './service.ts'

interface Judged extends Sample {
  readonly file: string
  readonly group: number
  readonly heldOut: boolean
}

const folds = 10
const seeds = [1, 2, 3, 4, 5]
/** False positives that are allowed, and what may be missed then, in percent. */
const wishes = [
  { allowed: 0.001, missed: 12 },
  { allowed: 0.01, missed: 2 },
]

export async function spamSection({ corpus, peers }: Plan): Promise<Row[]> {
  if (corpus === undefined) return []
  const { messages, perSecond } = await load(corpus)
  const open = messages.filter(({ heldOut }) => !heldOut)
  const rows: Row[] = [
    { what: 'messages read and classified, one core', figure: perSecond, unit: '/s', wanted: { least: 2000 } },
  ]
  for (const seed of seeds) {
    const parts = Array.from({ length: folds }, (_, fold) => fold).map(fold => ({
      learned: open.filter(one => foldOf(one, seed) !== fold),
      judged: open.filter(one => foldOf(one, seed) === fold),
    }))
    rows.push(...(await verdicts(`split ${seed}, ${folds} parts`, parts, seed, peers)))
    rows.push(...(await verdicts(`split ${seed}, all ham before all spam`, parts.map(inBlocks), seed, false)))
  }
  const heldOut = { learned: open, judged: messages.filter(one => one.heldOut) }
  rows.push(...(await verdicts('held out', [heldOut], 1, peers)))
  for (const count of [20, 100, 250]) rows.push(await early(open, count))
  const size = (modelBytes / 2 ** 20).toFixed(1)
  rows.push({ what: 'a model in memory', figure: Number(size), unit: 'MiB', wanted: { most: 10 } })
  return rows
}

interface Part {
  /** Learned in an order by chance unless in blocks. */
  readonly learned: readonly Judged[]
  readonly blocks?: true
  readonly judged: readonly Judged[]
}

async function verdicts(what: string, parts: readonly Part[], seed: number, peers: boolean): Promise<Row[]> {
  const scores: (Judged & { score: number })[] = []
  for (const { learned, judged, blocks } of parts) {
    const model = await taught(blocks ? learned : shuffled(learned, seed), seed)
    scores.push(...judged.map(one => ({ ...one, score: model.score(one.features) })))
  }
  const others = peers ? parts.flatMap(bogofilter) : undefined
  return wishes.map(({ allowed, missed }) => {
    const { share, cut } = missedAt(scores, allowed)
    const other = others === undefined ? '' : `; bogofilter ${(100 * missedAt(others, allowed).share).toFixed(1)} %`
    const name = `spam missed at false positives <= ${allowed * 100} %, ${what}`
    const note = `cut at ${cut.toFixed(1)}, ${scores.length} judged${other}`
    return { what: name, figure: 100 * share, unit: '%', wanted: { most: missed }, note }
  })
}

/** What an account brings that moves a folder of each kind, one after the other. */
function inBlocks({ learned, judged }: Part): Part {
  return { learned: learned.toSorted((one, other) => Number(one.isSpam) - Number(other.isSpam)), judged, blocks: true }
}

/** A model as the service makes it, some messages at a time. */
async function taught(learned: readonly Judged[], seed: number): Promise<SpamModel> {
  const model = new SpamModel()
  const random = chance(seed)
  const { batchMax, rehearsedMax } = limits.spam
  for (let at = 0; at < learned.length; at += batchMax) {
    const before = learned.slice(0, at)
    const kept = [true, false].flatMap(spam => before.filter(one => one.isSpam === spam).slice(-rehearsedMax))
    await learn(model, learned.slice(at, at + batchMax), kept, random)
  }
  return model
}

/** What is worth how much after a few messages: those that are learned are half spam. */
async function early(messages: readonly Judged[], count: number): Promise<Row> {
  const rounds = 10
  const all: { isSpam: boolean; score: number }[][] = []
  for (let round = 0; round < rounds; round++) {
    const order = shuffled(messages, round + 1)
    const learned = [true, false].flatMap(spam => order.filter(one => one.isSpam === spam).slice(0, count / 2))
    const groups = new Set(learned.map(({ group }) => group))
    const model = new SpamModel()
    await learn(model, learned, [], chance(round + 1))
    all.push(order.filter(one => !groups.has(one.group)).map(one => ({ ...one, score: model.score(one.features) })))
  }
  const missed = all.map(scores => 100 * missedAt(scores, 0.01).share)
  const figure = missed.reduce((sum, one) => sum + one, 0) / rounds
  return { what: `spam missed at false positives <= 1 % after ${count} learned`, figure, unit: '%' }
}

function missedAt(scores: readonly { isSpam: boolean; score: number }[], allowed: number) {
  const ham = scores.flatMap(({ isSpam, score }) => (isSpam ? [] : [score])).sort((one, other) => other - one)
  const spam = scores.filter(({ isSpam }) => isSpam)
  const cut = ham[Math.floor(ham.length * allowed)] ?? 0
  return { cut, share: spam.filter(({ score }) => score <= cut).length / spam.length }
}

async function load(corpus: string): Promise<{ messages: Judged[]; perSecond: number }> {
  const files = ['ham', 'spam'].flatMap(kind =>
    readdirSync(join(corpus, kind))
      .sort()
      .map(name => join(corpus, kind, name)),
  )
  const raw = files.map(file => Buffer.from(readFileSync(file, 'latin1').replace(/\r?\n/g, '\r\n'), 'latin1'))
  const texts = await Promise.all(raw.map(readSpamText))
  const features: Features[] = texts.map(featuresOf)
  const model = new SpamModel()
  for (const [at, one] of features.entries()) model.count(one, at % 2 === 0, 1)
  // Warm, as in a service that runs.
  const before = process.cpuUsage()
  for (const message of raw) model.score(featuresOf(await readSpamText(message)))
  const { user, system } = process.cpuUsage(before)
  const groups = groupsOf(texts)
  const messages = files.map((file, at): Judged => {
    const group = groups[at] ?? at
    const known = { features: features[at] as Features, isSpam: at >= files.findIndex(one => one.includes('/spam/')) }
    return { ...known, file, group, heldOut: draw(`judge2/${group}`) % 4 === 0 }
  })
  return { messages, perSecond: (1e6 * files.length) / (user + system) }
}

type Text = Awaited<ReturnType<typeof readSpamText>>

/** Joins messages that refer to each other, share a subject, or share a good part of their runs of six words. */
function groupsOf(texts: readonly Text[]): number[] {
  const above = texts.map((_, at) => at)
  const top = (at: number): number => {
    while (above[at] !== at) at = above[at] as number
    return at
  }
  const first = new Map<string, number>()
  const runs = new Map<string, number[]>()
  texts.forEach(({ fields, texts: bodies }, at) => {
    const value = (name: string) => fields.flatMap(([key, text]) => (key === name ? [text] : [])).join(' ')
    const ids = [
      ...['message-id', 'references', 'in-reply-to']
        .map(value)
        .join(' ')
        .matchAll(/<[^>\s]{7,}>/g),
    ]
    const subject = baseSubject(value('subject'))
      .base.toLowerCase()
      .replace(/[^a-z]+/g, ' ')
      .trim()
      .slice(0, 40)
    for (const key of [...ids.map(String), ...(subject.length >= 8 ? [subject] : [])]) {
      const other = first.get(key)
      if (other === undefined) first.set(key, at)
      else above[top(at)] = top(other)
    }
    const words =
      bodies
        .map(({ content }) => content.replace(/<[^>]*>/g, ' '))
        .join(' ')
        .toLowerCase()
        .match(/[a-z]{3,}/g) ?? []
    const own = new Set(words.slice(0, 3000).map((_, from) => words.slice(from, from + 6).join(' ')))
    const shared = new Map<number, number>()
    for (const run of own) {
      const known = runs.get(run)
      for (const other of known ?? []) shared.set(other, (shared.get(other) ?? 0) + 1)
      if (known === undefined) runs.set(run, [at])
      else if (known.length < 60) known.push(at)
    }
    for (const [other, count] of shared) if (own.size > 16 && count >= 0.4 * own.size) above[top(at)] = top(other)
  })
  return above.map((_, at) => top(at))
}

function foldOf({ group }: Judged, seed: number): number {
  return draw(`${seed}/${group}`) % folds
}

function draw(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32LE(0)
}

function shuffled<Item>(items: readonly Item[], seed: number): Item[] {
  const random = chance(seed)
  return items
    .map(item => ({ item, at: random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item)
}

/** The same numbers for the same seed. */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** The same messages learned and judged by bogofilter, where it is installed. */
function bogofilter({ learned, judged }: Part): (Judged & { score: number })[] {
  const folder = makeFolder()
  try {
    const database = join(folder, 'bogofilter')
    mkdirSync(database)
    const run = (options: readonly string[], files: readonly Judged[]) => {
      const input = `${files.map(({ file }) => file).join('\n')}\n`
      return execFileSync(
        'sh',
        ['-c', 'bogofilter "$@"; test $? -lt 3', 'sh', '-C', '-d', database, ...options, '-b'],
        {
          ...{ input, maxBuffer: 2 ** 28, encoding: 'utf8' },
        },
      )
    }
    run(
      ['-n'],
      learned.filter(({ isSpam }) => !isSpam),
    )
    run(
      ['-s'],
      learned.filter(({ isSpam }) => isSpam),
    )
    const digits = '--spamicity-formats=%0.17f,%0.17f,%0.17f'
    const lines = run(['-v', digits], judged).split('\n')
    return judged.map(one => {
      const line = lines.find(text => text.startsWith(`${one.file} `))
      return { ...one, score: Number(/spamicity=([\d.]+)/.exec(line ?? '')?.[1]) }
    })
  } finally {
    removeFolder(folder)
  }
}
