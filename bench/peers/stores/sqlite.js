'use strict'
// SQLite: one table, its key the row's number. better-sqlite3 where it is installed, else what Node.js brings along.

const path = require('node:path')
const { openSqlite } = require('../lib/open-sqlite')
const { rootOf } = require('../lib/root-of')

const ROOT = "json_extract(data, '$.value.content.root')"

/** @type {import('../lib/shapes').Peer} */
module.exports = {
  name: 'sqlite',
  order: 60,
  label: 'SQLite',
  kind: 'database',
  packages: ['better-sqlite3'],
  queried: 'json',
  ways: ['json_extract', 'parsed', 'index'],
  async open (folder, mode) {
    const db = openSqlite(path.join(folder, 'sqlite'))
    // FULL syncs at each commit, OFF never.
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${mode === 'durable' ? 'FULL' : 'OFF'};
      PRAGMA cache_size = -131072; CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, data)`)
    if (mode === 'query') db.exec(`CREATE INDEX IF NOT EXISTS roots ON messages (${ROOT})`)
    const insert = db.prepare(`INSERT INTO messages (data) VALUES (${mode === 'query' ? 'CAST(? AS TEXT)' : '?'})`)
    const appendAll = (/** @type {Buffer[]} */ records) => {
      db.exec('BEGIN')
      for (const record of records) insert.run(record)
      db.exec('COMMIT')
    }
    const all = db.column('SELECT data FROM messages ORDER BY id')
    const unindexed = db.column(`SELECT data FROM messages NOT INDEXED WHERE ${ROOT} = ? ORDER BY id`)
    const indexed = db.column(`SELECT data FROM messages WHERE ${ROOT} = ? ORDER BY id`)
    const one = db.column('SELECT data FROM messages WHERE id = ?')
    return {
      packages: [db.name],
      append: async (records) => appendAll(records),
      appendOne: async (record) => { insert.run(record) },
      appendGroup: async (records) => appendAll(records),
      async scan (visit) {
        for (const record of all.each()) visit(record, 0, record.length)
      },
      queries: {
        async json_extract (root, onHit) {
          for (const text of unindexed.each(root)) onHit(JSON.parse(text))
        },
        async parsed (root, onHit) {
          for (const text of all.each()) {
            const message = JSON.parse(text)
            if (rootOf(message) === root) onHit(message)
          }
        },
        async index (root, onHit) {
          for (const text of indexed.each(root)) onHit(JSON.parse(text))
        }
      },
      // Rows count from 1.
      get: (key, cb) => cb(null, one.get(key + 1)),
      close: async () => db.close()
    }
  }
}
