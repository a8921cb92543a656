'use strict'
// Who answers the requests: @millrace/ingest, the same fastify server that does nothing, one that reads and parses the
// bodies, and one with a buffer before better-sqlite3. Each is a process of its own: node servers.js ORDER

const { fork } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { fastify } = require('fastify')
const { readProtobuf } = require('@millrace/otlp')
const { loadPeer } = require('../../engine/install')
const { toServerArguments } = require('../../lib/run')
const { LINES_TYPE, PROTOBUF_TYPE } = require('./requests')

const HOST = '127.0.0.1'
const DATABASE = 'events.sqlite'
const FDATASYNC_COUNT = 200
const SYNC_FILE_SIZE = 64 * 2 ** 20
/** A sync waits no longer once no request has come for this time. */
const SYNC_GAP_MS = 0.5

/**
 * @typedef {object} Running
 * @property {string} url
 * @property {() => unknown} close  everything is stored when it returns or resolves
 *
 * @typedef {object} ServerPeer
 * @property {(folder: string, options: any) => Promise<Running>} [serve]
 * @property {(folder: string) => Promise<number>} [count]  the events in the folder, once the server is closed
 * @property {(folder: string, count: number, name?: string) => Promise<void>} [fill]  stores so many events before the
 *   server begins; `name`: of the log
 * @property {(setting: any) => Record<string, number>} [measure]  instead of all that, in the measuring process
 * @typedef {import('../../engine/row').Peer & ServerPeer} Peer
 */

/** @type {ServerPeer} */
const millrace = {
  async serve (folder, options) {
    const { createIngest } = require('@millrace/ingest')
    const server = createIngest({ folder, port: 0, onReport: (err) => { throw err }, ...options })
    const url = await server.listen()
    await server.ready()
    return { url, close: () => server.close() }
  },
  async count (folder) {
    const { SegmentedLog } = require('@millrace/segmented-log')
    let count = 0
    for (const name of fs.readdirSync(folder).filter((name) => name.startsWith('log-'))) {
      const log = SegmentedLog(path.join(folder, name), { flags: 'r' })
      await log.ready()
      count += await log.count()
      await log.close()
    }
    return count
  },
  async fill (folder, count, name = 'a') {
    const { SegmentedLog } = require('@millrace/segmented-log')
    const { lines } = require('@millrace/log-writer')
    const log = SegmentedLog(path.join(folder, `log-${name}`), { codec: lines, fsync: 'never' })
    await log.ready()
    const record = JSON.stringify({ time: Date.now(), value: { source: 's1', event: 'e1', n: 12 } })
    for (let left = count; left > 0; left -= 1000) await log.append(Array(Math.min(left, 1000)).fill(record))
    await log.close()
  }
}

/** The routes of ingest, and nothing behind them. @returns {Promise<Running>} */
async function serveEmpty () {
  const app = fastify()
  const answer = async () => ({ ack: 'written', count: 1, last: 123_456 })
  app.post('/v1/logs/:name', answer)
  app.route({ method: ['GET', 'PUT'], url: '/v1/se/:source/:event', handler: answer })
  return { url: await app.listen({ port: 0, host: HOST }), close: () => app.close() }
}

/** Reads and parses the bodies. A parser for another type of body belongs here. @returns {Promise<Running>} */
async function serveParse () {
  const app = fastify()
  app.addContentTypeParser(LINES_TYPE, { parseAs: 'string', bodyLimit: 8 * 2 ** 20 }, (_, body, done) => {
    done(null, /** @type {string} */ (body).trimEnd().split('\n').map((line) => JSON.parse(line)))
  })
  app.addContentTypeParser(PROTOBUF_TYPE, { parseAs: 'buffer', bodyLimit: 8 * 2 ** 20 }, (_, body, done) => {
    done(null, readProtobuf(/** @type {Buffer} */ (body), { countMax: 1000 }))
  })
  const countOf = (/** @type {any} */ { length }) => length
  app.post('/v1/logs/:name', async ({ body }) => ({ ack: 'written', count: countOf(body), last: 123_456 }))
  app.post('/v1/logs', async () => ({}))
  return { url: await app.listen({ port: 0, host: HOST }), close: () => app.close() }
}

/**
 * The least that an answer behind a sync costs: lines in a text file that has its size already, one write and one
 * `fdatasync` for all clients. The sync waits until those that just got an answer have asked again, and blocks the
 * event loop: with half of the clients a sync, or with syncs in the thread pool, it answers fewer requests.
 * @param {string} folder
 * @returns {Promise<Running>}
 */
async function serveSync (folder) {
  const fd = fs.openSync(path.join(folder, 'lines'), 'w')
  fs.writeSync(fd, Buffer.alloc(SYNC_FILE_SIZE))
  fs.fsyncSync(fd)
  const app = fastify()
  /** @type {Array<{ line: string, done: () => void }>} */
  let waiting = []
  let clientCount = 0
  let position = 0
  const sync = () => {
    const group = waiting
    waiting = []
    clientCount = group.length
    const bytes = Buffer.from(group.map(({ line }) => line).join(''))
    if (position + bytes.length > SYNC_FILE_SIZE) position = 0
    position += fs.writeSync(fd, bytes, 0, bytes.length, position)
    fs.fdatasyncSync(fd)
    for (const { done } of group) done()
  }
  const gather = (count = 0, grewMs = performance.now()) => {
    const nowMs = performance.now()
    if (waiting.length >= clientCount || nowMs - grewMs > SYNC_GAP_MS) sync()
    else setImmediate(gather, waiting.length, waiting.length > count ? nowMs : grewMs)
  }
  app.post('/v1/logs/:name', (request, reply) => {
    const done = () => { reply.send({ ack: 'synced', count: 1, last: 123_456 }) }
    if (waiting.push({ line: `${JSON.stringify(request.body)}\n`, done }) === 1) setImmediate(gather)
  })
  return {
    url: await app.listen({ port: 0, host: HOST }),
    async close () {
      await app.close()
      fs.closeSync(fd)
    }
  }
}

/**
 * The seed's way: an event waits in an array, and is answered. A full or old buffer becomes one transaction.
 * @type {ServerPeer}
 */
const sqlite = {
  async serve (folder, { buffer = 2000, intervalMs = 10_000, isOneByOne = false }) {
    const db = openDatabase(folder)
    const insert = db.prepare('INSERT INTO events (time, source, event, data) VALUES (?, ?, ?, ?)')
    const insertAll = (/** @type {any[][]} */ rows) => { for (const row of rows) insert.run(row) }
    const store = isOneByOne ? insertAll : db.transaction(insertAll)
    /** @type {any[][]} */
    let waiting = []
    const flush = () => {
      const rows = waiting
      waiting = []
      if (rows.length > 0) store(rows)
    }
    const add = (/** @type {any[]} */ row) => { if (waiting.push(row) >= buffer) flush() }
    const timer = setInterval(flush, intervalMs)
    const app = fastify()
    const answer = { ack: 'buffered', count: 1 }
    app.post('/v1/logs/:name', async ({ body }) => {
      add([Date.now(), null, null, JSON.stringify(body)])
      return answer
    })
    app.route({
      method: ['GET', 'PUT'],
      url: '/v1/se/:source/:event',
      handler: async ({ params }) => {
        const { source, event } = /** @type {any} */ (params)
        add([Date.now(), source, event, null])
        return answer
      }
    })
    return {
      url: await app.listen({ port: 0, host: HOST }),
      async close () {
        await app.close()
        clearInterval(timer)
        flush()
        db.close()
      }
    }
  },
  async count (folder) {
    const db = openDatabase(folder)
    const count = db.prepare('SELECT count(*) FROM events').pluck().get()
    db.close()
    return count
  },
  async fill (folder, count) {
    const db = openDatabase(folder)
    db.exec(`INSERT INTO events (time, data) WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT ${count})
      SELECT 1790000000000 + n, '{"source":"s1","event":"e1","n":12}' FROM n; PRAGMA wal_checkpoint(TRUNCATE)`)
    db.close()
  }
}

/** @param {string} folder */
function openDatabase (folder) {
  const db = new (loadPeer('better-sqlite3'))(path.join(folder, DATABASE))
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS events (time INTEGER, source TEXT, event TEXT, data TEXT)`)
  return db
}

/**
 * What the disk allows: each connection waits for one sync at least, and one sync can serve all of them.
 * @param {{ folder: string, connections: number }} setting
 */
function measureDisk ({ folder, connections }) {
  const fd = fs.openSync(path.join(folder, 'file'), 'w')
  const bytes = Buffer.alloc(80 * connections, 'x')
  const began = performance.now()
  for (let count = 0; count < FDATASYNC_COUNT; count++) {
    fs.writeSync(fd, bytes)
    fs.fdatasyncSync(fd)
  }
  const rate = FDATASYNC_COUNT * connections / (performance.now() - began) * 1000
  fs.closeSync(fd)
  return { rate }
}

/** @type {(name: string, label: string, kind: string, packages: string[], how: ServerPeer) => Peer} */
function peer (name, label, kind, packages, how) {
  return { name, label, kind, packages, ...how }
}

/**
 * Runs a peer in a process of its own.
 * @param {string} name
 * @param {string} folder
 * @param {any} options  of the peer
 */
async function startServer (name, folder, options) {
  const child = fork(__filename, [JSON.stringify({ name, folder, options })], { execArgv: toServerArguments() })
  const ended = once(child, 'exit')
  const [url] = await Promise.race([
    once(child, 'message'),
    ended.then(([code]) => { throw new Error(`the server of ${name} exited with ${code}`) })
  ])
  const stop = async () => {
    child.send('stop')
    const [code] = await ended
    if (code !== 0) throw new Error(`the server of ${name} exited with ${code}`)
  }
  return { url, pid: /** @type {number} */ (child.pid), stop }
}

/** @type {(order: { name: string, folder: string, options: any }) => Promise<void>} */
async function runServer ({ name, folder, options }) {
  const { serve } = /** @type {Required<Peer>} */ (exports.parts.find((peer) => peer.name === name))
  process.on('disconnect', () => process.exit(1))
  const { url, close } = await serve(folder, options)
  process.once('message', async () => {
    await close()
    process.exit()
  })
  process.send?.(url)
}

const OURS = ['@millrace/ingest', 'fastify']

/** @type {Peer[]} */
exports.parts = [
  peer('millrace', 'Millrace', 'millrace', OURS, millrace),
  peer('millrace-full', 'Millrace, full log', 'millrace', OURS, millrace),
  peer('millrace-dictionary', 'Millrace, dictionary', 'millrace', OURS, millrace),
  peer('sqlite', 'better-sqlite3', 'database', ['better-sqlite3', 'fastify'], sqlite),
  peer('sqlite-full', 'better-sqlite3, full', 'database', ['better-sqlite3', 'fastify'], sqlite),
  peer('empty', 'empty server', 'limit', ['fastify'], { serve: serveEmpty }),
  peer('parse', 'parsing server', 'limit', ['fastify'], { serve: serveParse }),
  peer('sync', 'syncing server', 'limit', ['fastify'], { serve: serveSync }),
  peer('disk', '30 / fdatasync', 'limit', [], { measure: measureDisk })
]
exports.startServer = startServer

if (require.main === module) runServer(JSON.parse(process.argv[2]))
