'use strict'
// LMDB: keys are numbers that count up.

const path = require('node:path')
const { load } = require('../lib/load')
const { rootOf } = require('../lib/root-of')

/** @type {import('../lib/shapes').Peer} */
module.exports = {
  name: 'lmdb',
  order: 70,
  label: 'LMDB',
  kind: 'database',
  packages: ['lmdb'],
  queried: 'json',
  ways: ['parsed'],
  async open (folder, mode) {
    const options = { path: path.join(folder, 'lmdb'), encoding: 'binary', keyEncoding: 'uint32' }
    const sync = mode === 'durable' ? { overlappingSync: false } : { noSync: true }
    const db = load('lmdb').open({ ...options, ...sync })
    let next = db.getKeysCount()
    const put = (/** @type {Buffer} */ record) => db.put(next++, record)
    return {
      append: (records) => db.batch(() => records.forEach(put)),
      appendOne: put,
      async scan (visit) {
        for (const { value } of db.getRange()) visit(value, 0, value.length)
      },
      queries: {
        async parsed (root, onHit) {
          for (const { value } of db.getRange()) {
            const message = JSON.parse(value)
            if (rootOf(message) === root) onHit(message)
          }
        }
      },
      get: (key, cb) => cb(null, db.get(key)),
      close: () => db.close()
    }
  }
}
