'use strict'

const tape = require('tape')
const { testLog } = require('@millrace/testkit')
const { OffsetLog } = require('..')

// A cold disk answers later: every read goes through the thread pool.
testLog(tape, (path, options) => {
  const log = OffsetLog(path, options)
  log._file.blocks._file.pace.mayBlock = () => false
  return log
}, { name: 'asynchronous reads' })

for (const framing of ['offset32', 'offset48', 'offset53']) {
  testLog(tape, (path, options) => OffsetLog(path, { framing, ...options }), { name: framing })
}
