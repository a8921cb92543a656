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

const FDATASYNC_COUNT = 200
const SYNC_FILE_SIZE = 64 * 2 ** 20
/** A sync waits no longer once no request has come for this time. */
const SYNC_GAP_MS = 0.5

/**
 * @typedef {object} Running
 * @property {string} url
 * @property {() => unknown} close  everything is stored when it returns or resolves
 *
 * @typedef {object} Direct  without HTTP
 * @property {(text: string) => void} write
 * @property {() => void} flush
 * @property {() => unknown} close
 *
 * @typedef {object} ServerPeer
 * @property {(folder: string, options: any) => Promise<Running>} [serve]
 * @property {(folder: string) => Promise<Direct>} [direct]  a program with a log, or a database, of its own
 * @property {(folder: string) => Promise<number>} [count]  the events in the folder, once the server is closed
 * @property {(folder: string, count: number, name?: string) => Promise<void>} [fill]  stores so many events before the
 *   server begins; `name`: of the log
 * @property {(setting: any) => Record<string, number>} [measure]  instead of all that, in the measuring process
 * @typedef {import('../../engine/row').Peer & ServerPeer} Peer
 */

/** @type {(folder: string, name: string, options: object) => Promise<any>} */
async function openLog (folder, name, options) {
  const { SegmentedLog } = require('@millrace/segmented-log')
  const log = SegmentedLog(path.join(folder, name), options)
  await log.ready()
  return log
}

/** @type {Required<Omit<ServerPeer, 'measure'>>} */
const millrace = {
  async serve (folder, options) {
    const { createIngest } = require('@millrace/ingest')
    const server = createIngest({ folder, port: 0, onReport: (err) => { throw err }, ...options })
    const url = await server.listen()
    await server.ready()
    return { url, close: () => server.close() }
  },
  async direct (folder) {
    const { LogWriter, lines } = require('@millrace/log-writer')
    const log = await openLog(folder, 'log-a', { codec: lines })
    const writer = LogWriter(log)
    return {
      write: (text) => writer.write(text),
      flush: () => { writer.flushSync({ sync: false }) },
      close: () => writer.close().then(() => log.close())
    }
  },
  async count (folder) {
    let count = 0
    for (const name of fs.readdirSync(folder).filter((name) => name.startsWith('log-'))) {
      const log = await openLog(folder, name, { flags: 'r' })
      count += await log.count()
      await log.close()
    }
    return count
  },
  async fill (folder, count, name = 'a') {
    const { lines } = require('@millrace/log-writer')
    const log = await openLog(folder, `log-${name}`, { codec: lines, fsync: 'never' })
    const record = JSON.stringify({ time: Date.now(), value: { source: 's1', event: 'e1', n: 12 } })
    for (let left = count; left > 0; left -= 1000) await log.append(Array(Math.min(left, 1000)).fill(record))
    await log.close()
  }
}

/** @type {(add: (app: any) => unknown, release?: () => void) => Promise<Running>} */
async function listen (add, release = () => {}) {
  const app = fastify()
  add(app)
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close().then(release) }
}

/** The routes of ingest. @type {(onLog: any, onEvent: any) => (app: any) => void} */
const routes = (onLog, onEvent) => (app) => {
  app.post('/v1/logs/:name', onLog)
  app.route({ method: ['GET', 'PUT'], url: '/v1/se/:source/:event', handler: onEvent })
}

/** The routes, and nothing behind them. */
function serveEmpty () {
  const answer = async () => ({ ack: 'written', count: 1, last: 123_456 })
  return listen(routes(answer, answer))
}

/** Reads and parses the bodies. A parser for another type of body belongs here. */
function serveParse () {
  /** @type {Array<[type: string, parseAs: string, parse: (body: any) => any]>} */
  const parsers = [
    [LINES_TYPE, 'string', (body) => body.trimEnd().split('\n').map((/** @type {string} */ line) => JSON.parse(line))],
    [PROTOBUF_TYPE, 'buffer', (body) => readProtobuf(body, { countMax: 1000 })]
  ]
  return listen((app) => {
    for (const [type, parseAs, parse] of parsers) {
      const parser = (/** @type {any[]} */ ...[, body, done]) => done(null, parse(body))
      app.addContentTypeParser(type, { parseAs, bodyLimit: 8 * 2 ** 20 }, parser)
    }
    app.post('/v1/logs/:name', async (/** @type {any} */ { body }) => ({ ack: 'written', count: body.length, last: 123_456 }))
    app.post('/v1/logs', async () => ({}))
  })
}

/**
 * The least that an answer behind a sync costs: lines in a text file that has its size already, one write and one
 * `fdatasync` for all clients. The sync waits until those that just got an answer have asked again, and blocks the
 * event loop: with half of the clients a sync, or with syncs in the thread pool, it answers fewer requests.
 * @param {string} folder
 */
function serveSync (folder) {
  const fd = fs.openSync(path.join(folder, 'lines'), 'w')
  fs.writeSync(fd, Buffer.alloc(SYNC_FILE_SIZE))
  fs.fsyncSync(fd)
  /** @type {Array<{ line: string, done: () => void }>} */
  let waiting = []
  let [clientCount, position] = [0, 0]
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
  return listen((app) => app.post('/v1/logs/:name', (/** @type {any} */ request, /** @type {any} */ reply) => {
    const done = () => { reply.send({ ack: 'synced', count: 1, last: 123_456 }) }
    if (waiting.push({ line: `${JSON.stringify(request.body)}\n`, done }) === 1) setImmediate(gather)
  }), () => fs.closeSync(fd))
}

/** @param {string} folder */
function openDatabase (folder) {
  const db = new (loadPeer('better-sqlite3'))(path.join(folder, 'events.sqlite'))
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS events (time INTEGER, source TEXT, event TEXT, data TEXT)`)
  return db
}

/**
 * The seed's way: an event waits in an array. A full one becomes one transaction.
 * @template Event
 * @param {string} folder
 * @param {string} columns
 * @param {(insert: any, event: Event) => void} run
 * @param {number} most
 * @param {boolean} [isOneByOne]
 */
function openBuffer (folder, columns, run, most, isOneByOne) {
  const db = openDatabase(folder)
  const insert = db.prepare(`INSERT INTO events (${columns}) VALUES (${columns.replace(/\w+/g, '?')})`)
  const insertAll = (/** @type {Event[]} */ events) => { for (const event of events) run(insert, event) }
  const store = isOneByOne ? insertAll : db.transaction(insertAll)
  /** @type {Event[]} */
  let waiting = []
  const flush = () => {
    const events = waiting
    waiting = []
    if (events.length > 0) store(events)
  }
  const write = (/** @type {Event} */ event) => { if (waiting.push(event) >= most) flush() }
  return { write, flush, close: () => db.close() }
}

/** @type {ServerPeer} */
const sqlite = {
  async serve (folder, { buffer = 2000, intervalMs = 10_000, isOneByOne = false }) {
    const run = (/** @type {any} */ insert, /** @type {any[]} */ row) => insert.run(...row)
    const { write, flush, close } = openBuffer(folder, 'time, source, event, data', run, buffer, isOneByOne)
    const timer = setInterval(flush, intervalMs)
    const answer = { ack: 'buffered', count: 1 }
    return listen(routes(async (/** @type {any} */ { body }) => {
      write([Date.now(), null, null, JSON.stringify(body)])
      return answer
    }, async (/** @type {any} */ { params: { source, event } }) => {
      write([Date.now(), source, event, null])
      return answer
    }), () => {
      clearInterval(timer)
      flush()
      close()
    })
  },
  direct: async (folder) => openBuffer(folder, 'time, data', (insert, text) => insert.run(Date.now(), text), 100),
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

/**
 * Runs a peer in a process of its own.
 * @param {string} name
 * @param {string} folder
 * @param {any} options  of the peer
 */
async function startServer (name, folder, options) {
  const child = fork(__filename, [JSON.stringify({ name, folder, options })], { execArgv: toServerArguments() })
  const ended = once(child, 'exit')
  const fail = (/** @type {number} */ code) => new Error(`the server of ${name} exited with ${code}`)
  const [url] = await Promise.race([once(child, 'message'), ended.then(([code]) => { throw fail(code) })])
  const stop = async () => {
    child.send('stop')
    const [code] = await ended
    if (code !== 0) throw fail(code)
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

const ours = { kind: 'millrace', packages: ['@millrace/ingest', 'fastify'], ...millrace }
const database = { kind: 'database', packages: ['better-sqlite3', 'fastify'], ...sqlite }
const limit = { kind: 'limit', packages: ['fastify'] }

/** @type {Peer[]} */
exports.parts = [
  { name: 'millrace', label: 'Millrace', ...ours },
  { name: 'millrace-full', label: 'Millrace, full log', ...ours },
  { name: 'millrace-dictionary', label: 'Millrace, dictionary', ...ours },
  { name: 'sqlite', label: 'better-sqlite3', ...database },
  { name: 'sqlite-full', label: 'better-sqlite3, full', ...database },
  { name: 'empty', label: 'empty server', ...limit, serve: serveEmpty },
  { name: 'parse', label: 'parsing server', ...limit, serve: serveParse },
  { name: 'sync', label: 'syncing server', ...limit, serve: serveSync },
  { name: 'disk', label: '30 / fdatasync', kind: 'limit', measure: measureDisk }
]
exports.startServer = startServer

if (require.main === module) runServer(JSON.parse(process.argv[2]))
