'use strict'
// The bytes of every record, in order.

const { createReadJob, time } = require('../lib/read-job')
const { tallyRecords } = require('../lib/tally-records')

module.exports = createReadJob({
  name: 'scan',
  order: 40,
  meaning: 'every record’s bytes, in order',
  mode: 'read'
}, (store) => {
  let tally = tallyRecords()
  return {
    sample () {
      tally = tallyRecords()
      return time(async () => store.scan?.(tally.visit))
    },
    result () {
      const answer = tally.result()
      return { records: answer.records, answer }
    }
  }
})
