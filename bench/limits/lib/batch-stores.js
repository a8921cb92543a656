'use strict'
// Stores that take batches of records, each told not to sync: what they write is in the page cache when they answer.

const fs = require('node:fs')
const { createRequire } = require('node:module')
const path = require('node:path')
const { putUint32 } = require('@millrace/flow')
const { OffsetLog } = require('@millrace/offset-log')
const { crc32 } = require('@millrace/offset-log/lib/framing/checked/crc32')
const { LENGTH_SIZE, PAGE_SIZE } = require('@millrace/offset-log/lib/framing/checked/layout')
const { openDatabase } = require('./optional')

// These have no types, or need not be there.
const load = createRequire(__filename)
const BLOCK_SIZE = 64 * 1024
// From here on a larger write is no faster.
const LEAST_WRITE_SIZE = 512 * 1024
const LMDB_SIZE = 4 * 1024 ** 3

/**
 * @typedef {object} BatchStore
 * @property {(values: Buffer[], first: number, cb: (err: any) => void) => void} append  `first` is the index of the
 *   first of them; one by one, if there is one
 * @property {() => Promise<Buffer[]>} readAll  in order
 * @property {() => Promise<void>} close
 */

/** @typedef {(folder: string) => Promise<BatchStore>} OpenStore */

/** @type {OpenStore} */
exports.openMillrace = async (folder) => {
  /** @type {any} */
  const log = OffsetLog(path.join(folder, 'log'), { framing: 'checked', fsync: 'never' })
  await log.ready()
  return {
    append: (values, first, cb) => log.append(values.length === 1 ? values[0] : values, cb),
    readAll: () => collect(log.stream({ seqs: false })),
    close: () => log.close()
  }
}

/** @type {OpenStore} */
exports.openFlumelog = async (folder) => {
  const log = load('flumelog-offset')(path.join(folder, 'log'), { blockSize: BLOCK_SIZE })
  await new Promise((resolve) => log.since.once(resolve))
  return {
    append: (values, first, cb) => log.append(values.length === 1 ? values[0] : values, cb),
    readAll: () => collect(log.stream({ seqs: false })),
    close: async () => {} // It has no close.
  }
}

/** @type {OpenStore} */
exports.openLmdb = async (folder) => {
  const database = load('lmdb').open({
    path: path.join(folder, 'data.mdb'), keyEncoding: 'uint32', encoding: 'binary', noSync: true, mapSize: LMDB_SIZE
  })
  return {
    append (values, first, cb) {
      database.transactionSync(() => {
        for (let index = 0; index < values.length; index++) database.put(first + index, values[index])
      })
      cb(null)
    },
    readAll: async () => Array.from(database.getRange({}), (/** @type {any} */ entry) => Buffer.from(entry.value)),
    close: () => database.close()
  }
}

/** @type {OpenStore} */
exports.openLevel = async (folder) => {
  const { ClassicLevel } = load('classic-level')
  const database = new ClassicLevel(path.join(folder, 'level'), { keyEncoding: 'buffer', valueEncoding: 'buffer' })
  await database.open()
  return {
    append (values, first, cb) {
      const batch = values.map((value, index) => {
        const key = Buffer.allocUnsafe(4)
        key.writeUInt32BE(first + index)
        return { type: 'put', key, value }
      })
      database.batch(batch).then(() => cb(null), cb)
    },
    readAll: () => database.values().all(),
    close: () => database.close()
  }
}

/** @type {OpenStore} */
exports.openSqlite = async (folder) => {
  const database = openDatabase(path.join(folder, 'data.db'))
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = OFF')
  database.exec('CREATE TABLE log (seq INTEGER PRIMARY KEY, record BLOB NOT NULL)')
  const insert = database.prepare('INSERT INTO log (record) VALUES (?)')
  const insertAll = database.transaction((/** @type {Buffer[]} */ values) => {
    for (const value of values) insert.run(value)
  })
  return {
    append (values, first, cb) {
      insertAll(values)
      cb(null)
    },
    readAll: async () => database.prepare('SELECT record FROM log ORDER BY seq').pluck().all(),
    close: async () => { database.close() }
  }
}

/**
 * Nothing but the bytes of the records, put together beforehand: the least that an append can be.
 * @param {Buffer[][]} batches  all that will be appended, over and over
 * @returns {OpenStore}
 */
exports.createRawStore = (batches) => {
  const joined = new Map(batches.map((batch) => [batch, Buffer.concat(batch)]))
  return async (folder) => {
    const file = path.join(folder, 'raw')
    const fd = fs.openSync(file, 'w')
    return {
      append (values, first, cb) {
        fs.writeSync(fd, joined.get(values) ?? Buffer.concat(values))
        cb(null)
      },
      async readAll () {
        const bytes = fs.readFileSync(file)
        const { length } = batches[0][0]
        const starts = Array.from({ length: bytes.length / length }, (_, index) => index * length)
        return starts.map((start) => bytes.subarray(start, start + length))
      },
      close: async () => fs.closeSync(fd)
    }
  }
}

/**
 * What any log with checksums must do with records that come in one by one, or a few at a time: put them together, each
 * behind its length, since a write for each takes far longer, sum them, and call back once they are written. It has
 * no failures.
 * @type {OpenStore}
 */
exports.openLeastStore = async (folder) => {
  const file = path.join(folder, 'least')
  const fd = fs.openSync(file, 'w')
  const buffer = Buffer.allocUnsafeSlow(LEAST_WRITE_SIZE)
  /** @type {Array<(err: any) => void>} */
  let waiting = []
  let used = 0
  const flush = () => {
    for (let start = 0; start < used; start += PAGE_SIZE) {
      crc32(buffer.subarray(start, Math.min(used, start + PAGE_SIZE)))
    }
    fs.writeSync(fd, buffer, 0, used)
    used = 0
  }
  const write = () => {
    flush()
    const written = waiting
    waiting = []
    for (const cb of written) cb(null)
  }
  return {
    append (values, first, cb) {
      for (const value of values) {
        if (used + LENGTH_SIZE + value.length > LEAST_WRITE_SIZE) flush()
        putUint32(buffer, value.length, used)
        buffer.set(value, used + LENGTH_SIZE)
        used += LENGTH_SIZE + value.length
      }
      if (waiting.length === 0) process.nextTick(write)
      waiting.push(cb)
    },
    async readAll () {
      const bytes = fs.readFileSync(file)
      const values = []
      for (let start = LENGTH_SIZE, end = 0; start < bytes.length; start = end + LENGTH_SIZE) {
        end = start + bytes.readUInt32BE(start - LENGTH_SIZE)
        values.push(bytes.subarray(start, end))
      }
      return values
    },
    close: async () => fs.closeSync(fd)
  }
}

/** @param {any} source */
function collect (source) {
  return new Promise((resolve, reject) => {
    load('pull-stream')(source, load('pull-stream').collect((/** @type {any} */ err, /** @type {any} */ values) => {
      if (err) reject(err)
      else resolve(values)
    }))
  })
}
