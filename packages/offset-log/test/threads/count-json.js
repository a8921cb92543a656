'use strict'
// A task: how many records of JSON there are, each of them decoded.

const { jsonCodec } = require('@millrace/json-codec')

module.exports = () => {
  let count = 0
  return {
    codec: jsonCodec,
    onRecords (records) {
      for (let index = 0; index < records.count; index++) {
        if (typeof jsonCodec.decodeRange(records.buffer, records.starts[index], records.ends[index]) === 'object') count++
      }
    },
    end: () => count
  }
}
