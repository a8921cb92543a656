'use strict'
// SQLite, LMDB and LevelDB, each used as a log: the keys count up.

const path = require('node:path')
const { loadPeer } = require('../engine/install')

const CACHE_SIZE = 128 * 1024 * 1024
const LMDB_SIZE = 4 * 1024 ** 3
// LevelDB is asked for this many values at once, because a call for each takes longer.
const READ_COUNT = 1000
const ROOT = "json_extract(data, '$.value.content.root')"

/** @typedef {import('./index').Store} Store */
/** @typedef {import('./index').Mode} Mode */
/** Visits every value. @typedef {(onValue: (value: any) => void) => unknown} Each */

/**
 * Reads of all records, and a query that parses and compares.
 * @param {Each} eachRecord
 * @param {Each} [eachMessage]
 */
function readAll (eachRecord, eachMessage = (onMessage) => eachRecord((text) => onMessage(JSON.parse(text)))) {
  return {
    /** @type {Store['scan']} */
    scan: async (visit) => { await eachRecord((record) => visit(0, record, 0, record.length)) },
    queries: {
      /** @type {import('./index').Query} */
      'JSON.parse': async (root, onHit) => {
        // Content may be text, in a private message. Then it has no root.
        await eachMessage((message) => { if (message.value.content.root === root) onHit(message) })
      }
    }
  }
}

/**
 * SQLite through one of its two modules for Node.js.
 * @typedef {object} Sqlite
 * @property {string} name  of the module
 * @property {any} db
 * @property {(sql: string) => { iterate: (...values: any[]) => Iterable<any>, get: (...values: any[]) => any }} column
 *   the first column of each row
 */

/**
 * @param {string} file
 * @returns {Sqlite}
 * @throws {Error}  if neither module is there
 */
function connectSqlite (file) {
  try {
    const db = new (loadPeer('better-sqlite3'))(file)
    return { name: 'better-sqlite3', db, column: (sql) => db.prepare(sql).pluck() }
  } catch (err) {
    // Not installed, not compiled, or compiled for another Node.js.
    if (!/find module|bindings|different Node/i.test(String(err))) throw err
    const found = findNodeSqlite()
    if (!found) throw new Error(`neither better-sqlite3 nor node:sqlite is there: ${String(err).split('\n')[0]}`)
    const db = new found.DatabaseSync(file)
    return { name: 'node:sqlite', db, column: (sql) => pluck(db.prepare(sql)) }
  }
}

/** @param {any} statement  of node:sqlite, which returns whole rows */
function pluck (statement) {
  const firstOf = (/** @type {object | undefined} */ row) => row && Object.values(row)[0]
  return {
    * iterate (/** @type {any[]} */ ...values) { for (const row of statement.iterate(...values)) yield firstOf(row) },
    get: (/** @type {any[]} */ ...values) => firstOf(statement.get(...values))
  }
}

/** @returns {any}  undefined if this Node.js has no such module */
function findNodeSqlite () {
  return /** @type {any} */ (process).getBuiltinModule?.('node:sqlite')
}

/** One table, whose key is the row number. @type {(folder: string, mode: Mode) => Promise<Store>} */
async function openSqlite (folder, mode) {
  const { name, db, column } = connectSqlite(path.join(folder, 'sqlite'))
  // FULL syncs at each commit, OFF never syncs.
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${mode === 'durable' ? 'FULL' : 'OFF'};
    PRAGMA cache_size = ${-CACHE_SIZE / 1024}; CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, data)`)
  if (mode === 'query') db.exec(`CREATE INDEX IF NOT EXISTS roots ON messages (${ROOT})`)
  const insert = db.prepare(`INSERT INTO messages (data) VALUES (${mode === 'query' ? 'CAST(? AS TEXT)' : '?'})`)
  const [begin, commit] = [db.prepare('BEGIN'), db.prepare('COMMIT')]
  /** @type {Store['append']} */
  const append = (records, cb) => {
    begin.run()
    for (const record of records) insert.run(record)
    commit.run()
    cb()
  }
  const all = column('SELECT data FROM messages ORDER BY id')
  const one = column('SELECT data FROM messages WHERE id = ?')
  const ask = (/** @type {string} */ how) => {
    const rows = column(`SELECT data FROM messages ${how} WHERE ${ROOT} = ? ORDER BY id`)
    return async (/** @type {string} */ root, /** @type {(found: object) => void} */ onHit) => {
      for (const text of rows.iterate(root)) onHit(JSON.parse(text))
    }
  }
  const { scan, queries } = readAll((onValue) => { for (const value of all.iterate()) onValue(value) })
  return {
    packages: [name],
    append,
    // A single statement is a transaction.
    appendOne (record, cb) {
      insert.run(record)
      cb()
    },
    appendGroup: append,
    scan,
    queries: { ...queries, json_extract: ask('NOT INDEXED'), 'json_extract, indexed': ask('') },
    // Row numbers begin at 1.
    get: (key, cb) => cb(null, one.get(key + 1)),
    close: async () => db.close()
  }
}

/** @type {(folder: string, mode: Mode) => Promise<Store>} */
async function openLmdb (folder, mode) {
  const db = loadPeer('lmdb').open({
    path: path.join(folder, 'data.mdb'),
    encoding: 'binary',
    keyEncoding: 'uint32',
    mapSize: LMDB_SIZE,
    ...(mode === 'durable' ? { overlappingSync: false } : { noSync: true })
  })
  let next = db.getKeysCount()
  return {
    append (records, cb) {
      db.transactionSync(() => { for (const record of records) db.put(next++, record) })
      cb()
    },
    appendOne: (record, cb) => db.put(next++, record).then(() => cb(), cb),
    ...readAll((onValue) => { for (const { value } of db.getRange()) onValue(value) }),
    get: (key, cb) => cb(null, db.get(key)),
    close: () => db.close()
  }
}

/** @type {(folder: string, mode: Mode) => Promise<Store>} */
async function openLevel (folder, mode) {
  const { ClassicLevel } = loadPeer('classic-level')
  const db = new ClassicLevel(folder, { keyEncoding: 'buffer', valueEncoding: 'buffer', cacheSize: CACHE_SIZE })
  await db.open()
  const sync = mode === 'durable'
  const [last] = await db.keys({ reverse: true, limit: 1 }).all()
  let next = last ? last.readUInt32BE(0) + 1 : 0
  /** @type {Store['append']} */
  const append = (records, cb) => {
    db.batch(records.map((value) => ({ type: 'put', key: toKey(next++), value })), { sync }).then(() => cb(), cb)
  }
  /** @type {(valueEncoding: string) => Each} */
  const each = (valueEncoding) => async (onValue) => {
    const values = db.values({ valueEncoding })
    for (;;) {
      const some = await values.nextv(READ_COUNT)
      if (some.length === 0) return values.close()
      some.forEach(onValue)
    }
  }
  return {
    append,
    appendOne: (record, cb) => db.put(toKey(next++), record, { sync }).then(() => cb(), cb),
    appendGroup: append,
    ...readAll(each('buffer'), each('json')),
    get: (key, cb) => db.get(toKey(key)).then((/** @type {Buffer} */ record) => cb(null, record), cb),
    close: () => db.close()
  }
}

/** Four bytes that sort like the number. @type {(number: number) => Buffer} */
function toKey (number) {
  const key = Buffer.allocUnsafe(4)
  key.writeUInt32BE(number)
  return key
}

/** @type {Pick<import('./index').Peer, 'kind' | 'queried' | 'way'>} */
const PARSED = { kind: 'database', queried: 'json', way: 'JSON.parse' }
const sqlite = { ...PARSED, packages: ['better-sqlite3'], standIns: { 'better-sqlite3': 'node:sqlite' }, open: openSqlite }

/** @type {import('./index').Peer[]} */
exports.parts = [
  { ...sqlite, name: 'sqlite', label: 'SQLite', way: 'json_extract' },
  { ...sqlite, name: 'sqlite-parsed', label: 'SQLite, JSON.parse', store: 'sqlite' },
  { ...sqlite, name: 'sqlite-index', label: 'SQLite, json_extract, indexed', store: 'sqlite', way: 'json_extract, indexed' },
  { ...PARSED, name: 'lmdb', label: 'LMDB', packages: ['lmdb'], open: openLmdb },
  { ...PARSED, name: 'leveldb', label: 'LevelDB', packages: ['classic-level'], open: openLevel }
]

exports.connectSqlite = connectSqlite
exports.findNodeSqlite = findNodeSqlite
