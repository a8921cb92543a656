'use strict'
// The rows: ways to publish and to consume, at each of four sites of NATS servers, which run on this machine.

const { startCluster, startServer } = require('../../../packages/jetstream/test/server')
const clients = require('./clients')
const { fill, measure } = require('./works')

const CONSUME_COUNT = 100_000
const TIMEOUT_MS = 60_000
const GOAL = 0.8
const WORKS = /** @type {const} */ ([
  ['batch-1', 'one by one', { work: 'publish', size: 1 }],
  ['batch-10', 'batches of 10', { work: 'publish', size: 10 }],
  ['batch-100', 'batches of 100', { work: 'publish', size: 100 }],
  ['batch-1000', 'batches of 1,000', { work: 'publish', size: 1000 }],
  ['apart', '1,000 at once', { work: 'apart', size: 1 }],
  ['consume', 'consume', { work: 'consume', size: CONSUME_COUNT }]
])

/** @typedef {{ name: string, title: string, replicas: 1 | 3, syncInterval?: string }} Site */

/** @type {Site[]} */
const SITES = [
  { name: 'one', title: 'one server, synced every two minutes', replicas: 1 },
  { name: 'one-synced', title: 'one server, always synced', replicas: 1, syncInterval: 'always' },
  { name: 'three', title: 'three replicas, synced every two minutes', replicas: 3 },
  { name: 'three-synced', title: 'three replicas, always synced', replicas: 3, syncInterval: 'always' }
]

/**
 * The servers of a site, for all of its rows.
 * @type {(site: Site, context: import('../../engine/row').Context) => Promise<object>}
 */
async function start ({ replicas, syncInterval }, { shared, once, onEnd }) {
  const setting = { folder: shared, ...(syncInterval && { syncInterval }) }
  const servers = replicas === 1 ? [await startServer(setting)] : await startCluster(setting)
  onEnd(() => Promise.all(servers.map((server) => server.remove())))
  const place = { servers: servers.map(({ url }) => url), stream: 'bench', replicas }
  // All clients find the stream there, as the log makes it. To sync so many records would take minutes.
  await fill(clients.parts[0], place, syncInterval ? 1000 : CONSUME_COUNT)
  const { version } = /** @type {any} */ (await (await fetch(`${servers[0].monitor}/varz`)).json())
  once('input', () => `nats-server ${version}`)
  return { place }
}

/** @type {import('../../engine/row').Group[]} */
exports.groups = SITES.map((site) => ({
  ...site,
  // How often a server syncs changes nothing for who reads.
  rows: WORKS.filter(([, , { work }]) => work !== 'consume' || !site.syncInterval).map(([name, what, setting]) => ({
    name: `${site.name}-${name}`,
    what,
    setting,
    peers: { millrace: {}, bare: {} },
    // One site at a time: servers that are idle take processor time too.
    stage: site.title,
    timeoutMs: TIMEOUT_MS,
    figures: [{ figure: 'rate', unit: 'rate', goal: { times: [{ factor: GOAL, of: 'bare' }] } }],
    prepare: (context) => context.once(`site ${site.name}`, () => start(site, context)),
    measure
  }))
}))
exports.parts = exports.groups.flatMap(({ rows }) => rows)
exports.GOAL = GOAL
