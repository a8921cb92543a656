'use strict'
// The messages with one root, looked for in all of them.

const { decode } = require('@millrace/binary-codec')
const { createReadJob, time } = require('../lib/read-job')
const { tallyOf } = require('../lib/tally-records')

module.exports = createReadJob({
  name: 'query',
  order: 50,
  meaning: 'value.content.root == X, among all',
  mode: 'query'
}, (store, { query, way, total }) => {
  /** @type {Array<Uint8Array | object>} */
  let hits = []
  return {
    sample () {
      hits = []
      return time(async () => store.queries?.[way](query, (found) => {
        // Bytes are borrowed.
        hits.push(found instanceof Uint8Array ? Buffer.from(found) : found)
      }))
    },
    result () {
      const messages = hits.map((found) => Buffer.isBuffer(found) ? decode(found) : found)
      const { records: count, digest } = tallyOf(messages.map((message) => Buffer.from(JSON.stringify(message))))
      return { records: total, answer: { hits: count, digest } }
    }
  }
})
