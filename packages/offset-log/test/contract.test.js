'use strict'

const tape = require('tape')
const { testLog } = require('@millrace/testkit')
const { OffsetLog } = require('..')

for (const framing of ['checked', 'lines', 'offset32', 'offset48', 'offset53']) {
  testLog(tape, (path, options) => OffsetLog(path, { framing, ...options }), { name: framing })
}

// A cold disk answers later: every read goes through the thread pool. The offset framings differ in numbers only.
for (const framing of ['checked', 'lines', 'offset48']) {
  testLog(tape, (path, options) => {
    const log = OffsetLog(path, { framing, ...options })
    log._file.blocks._file.adaptiveIo.mayBlock = () => false
    return log
  }, { name: `${framing}, asynchronous reads` })
}

testLog(tape, (path, options) => OffsetLog(path, { fsync: 'always', ...options }), { name: 'checked, fsync always' })
