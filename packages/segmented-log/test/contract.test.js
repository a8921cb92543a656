'use strict'

const tape = require('tape')
const { withDictionary } = require('@millrace/dictionary')
const { SimulatedDisk, testLog } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

testLog(tape, (path, options) => SegmentedLog(path, { segmentSize: 300_000, openSegments: 2, ...options }), { name: 'segmented' })

testLog(tape, (path, options) => SegmentedLog(path, {
  segmentSize: 50_000, openSegments: 2, ...options, codec: withDictionary(options.codec)
}), { name: 'segmented, with dictionaries' })

testLog(tape, (path, options) => SegmentedLog(path, { framing: 'lines', segmentSize: 300_000, openSegments: 2, ...options }), {
  name: 'segmented, of lines'
})

/** By folder: the suite opens a log again. */
const disks = new Map()
for (const framing of ['checked', 'lines']) {
  testLog(tape, (path, options) => {
    if (!disks.has(path)) disks.set(path, new SimulatedDisk())
    const { storage } = disks.get(path)
    return SegmentedLog(path, { framing, segmentSize: 1, openSegments: 1, storage, ...options })
  }, { name: `a segment for each append, ${framing}` })
}
