// `npm run bench -- [section...] [--quick] [--peers]`: figures as ratios against bounds of the same run.
//
// Prints one table and ends with 1 when a wish is not met or a section broke. `--peers` measures other mail servers beside: as root it installs their Debian packages first. BENCH_DIR names a
// folder on the disk to measure (default: the system's folder for temporary files). `--corpus` is for spam.ts alone, `--messages` (of the folder that is attacked) and `--attacks` (names, with commas
// between) for section/isolation.ts, `--mixes` likewise for section/mixes.ts: where it is given, `imap` measures nothing else. `--ground FOLDER` keeps what isolation.ts and webmail.ts fill, `--profile`
// where isolation.ts has a profile written by which it names what was long; `--threads` is what services of isolation.ts, mixes.ts and trust.ts are started with, and `--before FOLDER`
// names a checkout of another version, with packages and a build, that section/before.ts measures beside this one.

import { parseArgs } from 'node:util'
import { filtersSection } from './filters.ts'
import { listingSection } from './listing.ts'
import { outboundSection } from './outbound.ts'
import { fullPlan, type Plan, quickPlan } from './plan.ts'
import { formatRows, isMet, type Row } from './row.ts'
import { searchSection } from './search.ts'
import { backupSection } from './section/backup.ts'
import { beforeSection } from './section/before.ts'
import { clusterSection } from './section/cluster.ts'
import { deliverySection } from './section/delivery.ts'
import { diskSection } from './section/disk.ts'
import { exportSection } from './section/export.ts'
import { httpSection } from './section/http.ts'
import { idleSection } from './section/idle.ts'
import { imapSection } from './section/imap.ts'
import { importSection } from './section/import.ts'
import { isolationSection } from './section/isolation.ts'
import { loginSection } from './section/login.ts'
import { pageSection } from './section/page.ts'
import { piecesSection } from './section/pieces.ts'
import { smtpSection } from './section/smtp.ts'
import { startSection } from './section/start.ts'
import { testingSection } from './section/testing.ts'
import { trustSection } from './section/trust.ts'
import { webhooksSection } from './section/webhooks.ts'
import { webmailSection } from './section/webmail.ts'
import { spamSection } from './spam.ts'
import { updatesSection } from './updates.ts'

const sections: Readonly<Record<string, (plan: Plan) => Promise<Row[]>>> = {
  start: startSection,
  testing: testingSection,
  http: httpSection,
  login: loginSection,
  imap: imapSection,
  pieces: piecesSection,
  idle: idleSection,
  isolation: isolationSection,
  cluster: clusterSection,
  delivery: deliverySection,
  smtp: smtpSection,
  trust: trustSection,
  disk: diskSection,
  import: importSection,
  backup: backupSection,
  export: exportSection,
  webhooks: webhooksSection,
  updates: updatesSection,
  filters: filtersSection,
  outbound: outboundSection,
  listing: listingSection,
  search: searchSection,
  spam: spamSection,
  webmail: webmailSection,
  page: pageSection,
  before: beforeSection,
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    peers: { type: 'boolean', default: false },
    corpus: { type: 'string' },
    messages: { type: 'string' },
    attacks: { type: 'string' },
    mixes: { type: 'string' },
    ground: { type: 'string' },
    profile: { type: 'string' },
    threads: { type: 'string' },
    before: { type: 'string' },
  },
})
const all = Object.keys(sections).filter(name => name !== 'before' || values.before !== undefined)
const names = positionals.length === 0 ? all : positionals
const unknown = names.filter(name => !Object.hasOwn(sections, name))
if (unknown.length > 0) {
  process.stderr.write(`no section is called ${unknown.join(', ')}; there are ${Object.keys(sections).join(', ')}\n`)
  process.exit(2)
}

const base = values.quick ? quickPlan : fullPlan
const plan = {
  ...{ ...base, peers: values.peers, corpus: values.corpus },
  ...{ attacked: Number(values.messages ?? base.attacked), attacks: values.attacks?.split(',') },
  ...{
    mixes: values.mixes?.split(','),
    ground: values.ground,
    threads: values.threads,
    profile: values.profile,
    before: values.before,
  },
}
const rows: Row[] = []
let broken = false
for (const name of names) {
  process.stderr.write(`${name} ...\n`)
  try {
    rows.push(...((await sections[name]?.(plan)) ?? []))
  } catch (error) {
    broken = true
    process.stderr.write(`${name} could not be measured: ${error instanceof Error ? error.stack : error}\n`)
  }
}
process.stdout.write(`${formatRows(rows)}\n`)
process.exit(broken || rows.some(row => isMet(row) === false) ? 1 : 0)
