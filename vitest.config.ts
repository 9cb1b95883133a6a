import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import process from 'node:process'
import { defineConfig } from 'vitest/config'
import { threadsAsDelivered } from './test/delivered.ts'

/** A busy machine takes its time for what it shows when it can. */
const patient = { poll: { timeout: 30_000 } }

const slow = { testTimeout: 120_000, hookTimeout: 120_000, expect: patient }

/** One process runs many files and reads the sources once (with one browser of a kind, where there is one). What a file starts it ends. */
const together = { pool: 'forks', isolate: false } as const

/** What is killed, starved, flooded or kept waiting takes its time: a suite of its own, so that the ordinary one is soon done. */
const faults = [
  ...['http/api/auth/authentication', 'http/api/messages/archive', 'jobs/relay/forged', 'jobs/relay/mta-sts'],
  'front/faults',
  'service/marks',
  'jobs/relay/relay',
  ...[
    'actors/auth/attempts',
    'cli/full-disk',
    'cli/killed',
    'cli/owner',
    'cli/setup',
    'http/api/auth/limits',
    'http/api/auth/networks',
  ],
  ...[
    'http/hostile',
    'http/proxied',
    'jobs/acme/acme',
    'jobs/relay/relay-crash',
    'jobs/relay/relay-hosts',
    'jobs/webhooks/webhooks',
  ],
  ...['service/crash', 'service/missing', 'service/origin', 'service/start', 'service/webhooks-crash'],
  ...['store/bodies/blobs-crash', 'store/upkeep/repair', 'store/writer/writer', 'testing/process'],
  ...['cli/cli', 'dev/command', 'front/fronts', 'jobs/relay/dane', 'jobs/relay/trace', 'jobs/returned/allowance'],
  ...['jobs/returned/way', 'pool/pool', 'service/owner', 'service/removal-crash', 'service/spam'],
  ...['service/slow-scanners', 'service/spam-moves'],
  ...['cli/dns', 'cli/keys-and-ways', 'cli/maildir', 'imap/heavy', 'http/api/messages/long-rows'],
  ...['service/arrived-reports', 'service/closed-domain', 'service/library', 'service/log'],
].map(name => `test/${name}.test.ts`)

/** What measures the memory of its process has it to itself. */
const alone = ['test/store/bodies/blobs.test.ts']

/**
 * Where the run says how many threads sessions live on, files that do not heed it have nothing more to show: they start no service, or one
 * that says so itself. Nor do those where nobody has a session besides filling a store: a removal or a service with subscribers that is
 * killed, a start that finds its data damaged or another at work, whose a folder is, web pages that ask the API, the way of a message that the API sent, and
 * its signature. Nor those whose matter no thread has a part in: the name under which a letter leaves is worked out of its bytes and its sender,
 * which the other submissions show to come across whole, and with hosts of others the main loop alone speaks.
 */
const silent =
  /(?:service\/(?:bundled|first|missing|owner|pages|removal-crash|signing|start|webhooks-crash)|relay\/(?:forged|odd-hosts|trace))\.test/

const deaf =
  process.env.TEAL_TEST_THREADS === undefined
    ? []
    : filesOf(
        file =>
          silent.test(file) ||
          !/\b(?:useTeal|threads|startChild)\b|main\.js serve|\/(?:searched|world)\.ts'/.test(
            readFileSync(file, 'utf8'),
          ),
      )

/**
 * Over the front of Node, files that do nothing but call endpoints with JSON (`call` of test/running.ts) show what the others there
 * show as well: between front and endpoint is one checked object, whatever came over the wire. What looks at the wire (answers as they
 * are, addresses, streams, sessions of the page), asks in another way or starts its services itself runs; but not what does so in
 * passing, for one header or status that exchange.test.ts has too: who is let in, rules of filters, accounts, what a domain's people may.
 */
const inPassing =
  /http\/(?:api\/(?:auth\/(?:authentication|limits|second-factor)|filters\/.*|accounts\/(?:users|removal)|messages\/submit)|guard\/domain-admin)\.test/

const beyondFronts = filesOf(
  file =>
    inPassing.test(file) ||
    (file.startsWith('test/http/api/') &&
      !/\b(?:raw|fetch|connect|Dialogue|listeners|startTeal|accessTo|url)\b|'node:/.test(readFileSync(file, 'utf8'))),
)

/** What looks into SQLite's file, at files beside it, or names a folder alone to commands; every other one with a service of its own is for both engines, but for those that follow. */
const onFile =
  /(?:cli\/belongings|http\/api\/admin\/service|imap\/header-fields|service\/hostile|service\/dashboards|store\/bodies\/unreadable|upkeep\/(?:backup|points))\.test/

/**
 * What has nothing more to show on the other engine: what becomes of sessions whose threads hang or are killed (front/fronts has one that is
 * gone there, too), how bytes are packed on a connection and how lines of a protocol look, headers of answers, documents that are the same for
 * everybody, what is worked out of a message's bytes and its hosts' DNS alone, how HTTP comes to actors from threads, how forms of commands that
 * no client should send are taken, and what other servers answer to whoever fetches from them (imports has what comes of it). What may reach a column (texts, names, numbers, rows of any
 * length), what runs at the same time and what waits in queues is none of that.
 */
const alike =
  /(?:front\/(?:faults|http)|imap\/(?:compress|dialogue|grammar|hostile|lenient)|net\/proxy-header|document\/openapi|http\/(?:packed|wrong-forms)|owner\/(?:mail-frame|other-server)|service\/autoconfig|admin\/domain-dns|relay\/(?:forged|odd-hosts)|service\/(?:author|origin|pages|sealed|signing|tracing|verdict-fields))\.test/

const onBoth = filesOf(
  file =>
    !/^test\/(?:interop|browser|executable|package|cluster)\//.test(file) &&
    !onFile.test(file) &&
    !alike.test(file) &&
    /\b(?:useTeal|startOnEngine)\b|from '\.\/(?:searched|world)\.ts'/.test(readFileSync(file, 'utf8')),
)

function filesOf(isOne: (file: string) => boolean): string[] {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.test.ts'))
    .map(file => `test/${file}`)
    .filter(isOne)
}

/** Suites: the ordinary one, what takes long, what goes over HTTP once more over the front of Node, every service once more on PostgreSQL, the style as a test, the one executable, the package as others get it, and the two that install programs of Debian's first. */
export default defineConfig({
  plugins: [threadsAsDelivered],
  test: {
    // Half of what a test does is waiting.
    maxWorkers: Math.max(3, availableParallelism() + 1),
    projects: [
      {
        test: {
          name: 'unit',
          globalSetup: 'test/built.ts',
          include: ['test/**/*.test.ts'],
          exclude: [
            ...['test/tidy.test.ts', 'test/package/**', 'test/interop/**', 'test/browser/**', 'test/executable/**'],
            'test/postgres/**',
            'test/cluster/**',
            ...faults,
            ...alone,
            ...deaf,
          ],
          ...together,
          // What crosses to an actor is copied on its way, so that nothing but data does.
          setupFiles: ['test/crossing.ts', 'test/own-time.ts'],
          ...slow,
        },
      },
      {
        test: {
          name: 'faults',
          globalSetup: 'test/built.ts',
          include: faults,
          exclude: deaf,
          ...together,
          setupFiles: ['test/crossing.ts', 'test/own-time.ts'],
          ...slow,
        },
      },
      {
        test: {
          name: 'alone',
          globalSetup: 'test/built.ts',
          include: alone,
          pool: 'forks',
          setupFiles: 'test/crossing.ts',
          ...slow,
        },
      },
      {
        test: {
          name: 'node-http',
          globalSetup: 'test/built.ts',
          include: ['test/http/**/*.test.ts'],
          exclude: beyondFronts,
          env: { TEAL_API_FRONT: 'node:http' },
          ...together,
          setupFiles: 'test/own-time.ts',
          ...slow,
        },
      },
      {
        test: {
          name: 'postgres',
          globalSetup: ['test/built.ts', 'test/postgres/setup.ts'],
          include: ['test/postgres/**/*.test.ts', 'test/cluster/*.test.ts', ...onBoth],
          ...together,
          setupFiles: ['test/crossing.ts', 'test/own-time.ts'],
          ...slow,
        },
      },
      {
        test: {
          name: 'chaos',
          globalSetup: ['test/built.ts', 'test/cluster/chaos/setup.ts'],
          include: ['test/cluster/chaos/*.test.ts'],
          pool: 'forks',
          ...slow,
          hookTimeout: 300_000,
        },
      },
      { test: { name: 'tidy', include: ['test/tidy.test.ts'], ...slow } },
      {
        test: {
          name: 'interop',
          globalSetup: 'test/built.ts',
          include: ['test/interop/**/*.test.ts'],
          testTimeout: 1_200_000,
          expect: patient,
          // Dozens of programs are installed first where they are missing.
          hookTimeout: 900_000,
        },
      },
      {
        test: {
          name: 'executable',
          include: ['test/executable/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 300_000,
        },
      },
      { test: { name: 'package', include: ['test/package/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 600_000 } },
      {
        test: {
          name: 'browser',
          globalSetup: 'test/built.ts',
          include: ['test/browser/**/*.test.ts'],
          ...together,
          testTimeout: 120_000,
          hookTimeout: 600_000,
          expect: patient,
        },
      },
    ],
  },
})
