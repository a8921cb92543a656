'use strict'
// The suite of the flume family, on every framing and codec.

const path = require('node:path')
const flumecodec = require('flumecodec')
const testFlumelog = require('test-flumelog')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { temporaryFolder } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const combinations = ['checked', 'offset32', 'offset48', 'offset53'].flatMap((framing) => {
  return [jsonCodec, binaryCodec, flumecodec.json].map((codec) => ({ framing, codec }))
})

runNext()

/** The suite adds its tests to its own copy of tape, one createLog after the other. */
function runNext () {
  const options = combinations.shift()
  if (!options) return
  const folder = temporaryFolder()
  console.log(`# test-flumelog: ${options.framing}, ${options.codec.name ?? options.codec.type}`)
  testFlumelog((name) => OffsetLog(path.join(folder, path.basename(name)), { blockSize: 1024, ...options }), runNext)
}
