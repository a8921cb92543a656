'use strict'
// Binary records: to bytes and back, one field of them, and the filter.

const { binaryCodec, createSeekPath, seekKey } = require('@millrace/binary-codec')
const { parseWhere } = require('@millrace/where')

const KEYS = ['value', 'content', 'root'].map((key) => Buffer.from(key))

/** @type {import('../shapes').Suite} */
module.exports = {
  name: 'binary-codec',
  order: 20,
  createTasks ({ messages, where }) {
    const count = messages.length
    const records = messages.map((message) => binaryCodec.encode(message))
    const bytes = records.reduce((total, { length }) => total + length, 0)
    const seek = createSeekPath(['value', 'content', 'root'])
    const isWanted = binaryCodec.compile(parseWhere(where))
    const each = (/** @type {(record: Buffer) => number | boolean} */ visit) => {
      return () => records.reduce((total, record) => total + Number(visit(record)), 0)
    }
    return [
      { name: 'encode', count, bytes, run: () => messages.reduce((total, value) => total + binaryCodec.encode(value).length, 0) },
      { name: 'decode', count, bytes, run: () => records.reduce((_, record) => binaryCodec.decode(record), null) },
      {
        name: 'seekKey, three deep',
        count,
        run: each((record) => KEYS.reduce((start, key) => start === -1 ? -1 : seekKey(record, start, key), 0))
      },
      { name: 'createSeekPath, three deep', count, run: each((record) => seek(record, 0)) },
      { name: 'compiled where', count, bytes, run: each((record) => isWanted(record, 0, record.length)) }
    ]
  }
}
