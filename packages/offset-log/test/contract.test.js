'use strict'

const tape = require('tape')
const { testLog } = require('@millrace/testkit')
const { OffsetLog } = require('..')

for (const framing of ['offset32', 'offset48', 'offset53']) {
  testLog(tape, (path, options) => OffsetLog(path, { framing, ...options }), { name: framing })
}
