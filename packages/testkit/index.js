'use strict'
// What every log and every codec must pass, and what a test needs to hurt a file.

const { testCodec } = require('./lib/codec-suite')
const { testLog } = require('./lib/log-suite')
const { flip, garble, misdirect, splice, swap, truncate, zero } = require('./lib/damage')
const { failureOf } = require('./lib/failure-of')
const { faultyStorage } = require('./lib/faulty-storage')
const { createRandom } = require('./lib/random')
const { SimulatedDisk } = require('./lib/simulated-disk')
const { stopClock } = require('./lib/stop-clock')
const { temporaryFolder } = require('./lib/temporary-folder')

exports.testCodec = testCodec
exports.testLog = testLog
exports.flip = flip
exports.truncate = truncate
exports.zero = zero
exports.splice = splice
exports.garble = garble
exports.swap = swap
exports.misdirect = misdirect
exports.failureOf = failureOf
exports.faultyStorage = faultyStorage
exports.createRandom = createRandom
exports.SimulatedDisk = SimulatedDisk
exports.stopClock = stopClock
exports.temporaryFolder = temporaryFolder
