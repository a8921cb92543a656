'use strict'
// JSON records: to bytes and back, and the filter.

const { jsonCodec } = require('@millrace/json-codec')
const { parseWhere } = require('@millrace/where')

/** @type {import('../shapes').Suite} */
module.exports = {
  name: 'json-codec',
  order: 30,
  createTasks ({ messages, where }) {
    const count = messages.length
    const records = messages.map((message) => Buffer.from(jsonCodec.encode(message)))
    const bytes = records.reduce((total, { length }) => total + length, 0)
    const isWanted = jsonCodec.compile(parseWhere(where))
    return [
      { name: 'encode', count, bytes, run: () => messages.reduce((total, value) => total + jsonCodec.encode(value).length, 0) },
      {
        name: 'decode',
        count,
        bytes,
        run: () => records.reduce((_, record) => jsonCodec.decodeRange(record, 0, record.length), null)
      },
      {
        name: 'compiled where',
        count,
        bytes,
        run: () => records.reduce((hits, record) => hits + Number(isWanted(record, 0, record.length)), 0)
      }
    ]
  }
}
