'use strict'
// LevelDB: keys are numbers that count up, as four bytes that sort.

const { CACHE_SIZE, load } = require('../lib/load')
const { rootOf } = require('../lib/root-of')

// Asked for at once: a call for each record would take longer.
const READ_COUNT = 1000

/** @type {import('../lib/shapes').Peer} */
module.exports = {
  name: 'leveldb',
  order: 80,
  label: 'LevelDB',
  kind: 'database',
  packages: ['classic-level'],
  queried: 'json',
  ways: ['parsed'],
  async open (folder, mode) {
    const { ClassicLevel } = load('classic-level')
    const db = new ClassicLevel(folder, { keyEncoding: 'buffer', valueEncoding: 'buffer', cacheSize: CACHE_SIZE })
    await db.open()
    const sync = mode === 'durable'
    const last = await db.keys({ reverse: true, limit: 1 }).all()
    let next = last.length > 0 ? last[0].readUInt32BE(0) + 1 : 0
    const write = (/** @type {Buffer[]} */ records) => {
      return db.batch(records.map((value) => ({ type: 'put', key: toKey(next++), value })), { sync })
    }
    const each = async (/** @type {string} */ valueEncoding, /** @type {(value: any) => void} */ onValue) => {
      const values = db.values({ valueEncoding })
      for (;;) {
        const some = await values.nextv(READ_COUNT)
        if (some.length === 0) return values.close()
        for (const value of some) onValue(value)
      }
    }
    return {
      append: write,
      appendOne: (record) => db.put(toKey(next++), record, { sync }),
      appendGroup: write,
      scan: (visit) => each('buffer', (record) => visit(record, 0, record.length)),
      queries: {
        parsed: (root, onHit) => each('json', (message) => { if (rootOf(message) === root) onHit(message) })
      },
      get: (key, cb) => db.get(toKey(key)).then((/** @type {Buffer} */ record) => cb(null, record), cb),
      close: () => db.close()
    }
  }
}

/** @param {number} number */
function toKey (number) {
  const key = Buffer.allocUnsafe(4)
  key.writeUInt32BE(number)
  return key
}
