'use strict'
// A pass over a source: a pull-stream source of its records that is also async-iterable.

const { Losses } = require('./losses')
const { RecordReader } = require('./record-reader')

/**
 * @typedef {import('./block-cursor').Cursor} Cursor
 * @typedef {Error | true | null} End
 * @typedef {{ seq: number, bytes: Buffer }} Item
 * @typedef {(end: End, item?: Item) => void} ReadCallback
 * @typedef {(abort: End, cb: ReadCallback) => void} PullSource
 * @typedef {PullSource & AsyncIterable<Item> & Met} RecordStream
 */

/**
 * What a pass has met so far.
 * @typedef {object} Met
 * @property {number | null} deleted
 * @property {Losses} lost
 * @property {Cursor['torn']} torn
 */

/**
 * @param {(cb: (err: Error | null, cursor?: Cursor) => void) => void} open  runs at the first read
 * @returns {RecordStream}
 */
function createRecordStream (open) {
  /** @type {RecordReader | null} */
  let reader = null
  /** @type {End} */
  let ended = null

  /** @type {(end: Error | true, cb: ReadCallback) => void} */
  const finish = (end, cb) => {
    ended = end
    if (reader === null) cb(end)
    else reader.cursor.close(() => cb(end))
  }
  /** @type {(cb: ReadCallback) => void} */
  const deliver = (cb) => {
    const current = /** @type {RecordReader} */ (reader)
    current.fill((err) => {
      if (ended) return cb(ended)
      if (err || current.isEnd) return finish(err ?? true, cb)
      const item = { seq: current.seq, bytes: current.bytes }
      current.advance()
      cb(null, item)
    })
  }
  /** @type {PullSource} */
  const source = (abort, cb) => {
    if (ended) return cb(ended)
    if (abort) return finish(abort, cb)
    if (reader !== null) return deliver(cb)
    open((err, cursor) => {
      if (err || !cursor) return finish(err ?? true, cb)
      reader = new RecordReader(cursor)
      if (ended) finish(ended, cb)
      else deliver(cb)
    })
  }
  Object.defineProperties(source, {
    deleted: { get: () => reader?.cursor.deleted ?? null },
    lost: { get: () => reader?.cursor.lost ?? new Losses() },
    torn: { get: () => reader?.cursor.torn ?? null }
  })
  return /** @type {any} */ (Object.assign(source, { [Symbol.asyncIterator]: () => iterate(source) }))
}

/**
 * @param {PullSource} source
 * @returns {AsyncGenerator<Item>}
 */
async function * iterate (source) {
  const read = (/** @type {End} */ abort) => new Promise((resolve, reject) => {
    source(abort, (end, item) => end instanceof Error ? reject(end) : resolve(item))
  })
  try {
    for (let item = await read(null); item !== undefined; item = await read(null)) yield item
  } finally {
    // Whoever leaves the loop has no more use for it. What has failed already is known.
    await read(true).catch(() => {})
  }
}

exports.createRecordStream = createRecordStream
