'use strict'
// The suite of the flume family.

const path = require('node:path')
const testFlumelog = require('test-flumelog')
const { jsonCodec } = require('@millrace/json-codec')
const { temporaryFolder } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const sizes = [undefined, 1]
runNext()

/** The suite adds its tests to its own copy of tape, one createLog after the other. */
function runNext () {
  if (sizes.length === 0) return
  const segmentSize = sizes.shift()
  const folder = temporaryFolder()
  console.log(`# test-flumelog: segmentSize ${segmentSize}`)
  const options = { segmentSize, blockSize: 1024, codec: jsonCodec }
  testFlumelog((name) => SegmentedLog(path.join(folder, path.basename(name)), options), runNext)
}
