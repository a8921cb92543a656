'use strict'
// The suites that every log and every codec must pass, and tools that damage files, storages and disks.

const { testCodec } = require('./lib/codec-suite')
const { flip, garble, misdirect, replacements, splice, swap, truncate, zero } = require('./lib/damage')
const { makeFilter, makeValue, runFilterCases } = require('./lib/filter-cases')
const { FailingDisk, failEachCall } = require('./lib/failing-disk')
const { faultyStorage } = require('./lib/faulty-storage')
const { testLog } = require('./lib/log-suite')
const { collectThrown, testThrows } = require('./lib/log-suite/throwing')
const { CrashPoint, TEAR } = require('./lib/simulated-crash')
const { SimulatedDisk } = require('./lib/simulated-disk')
const { slowStorage } = require('./lib/slow-storage')
const { collect, createRandom, failureOf, fakeWallClock, inQuickRuns, isLongRun, newPath } = require('./lib/tools')
const { stopClock, temporaryFolder, until } = require('./lib/tools')
const { windowsStorage } = require('./lib/windows-storage')

/** @typedef {import('./lib/simulated-crash').Choice} Choice */

exports.testCodec = testCodec
exports.testLog = testLog
exports.testThrows = testThrows
exports.collectThrown = collectThrown
exports.makeFilter = makeFilter
exports.makeValue = makeValue
exports.runFilterCases = runFilterCases
exports.flip = flip
exports.truncate = truncate
exports.zero = zero
exports.splice = splice
exports.garble = garble
exports.swap = swap
exports.misdirect = misdirect
exports.replacements = replacements
exports.collect = collect
exports.createRandom = createRandom
exports.failureOf = failureOf
exports.fakeWallClock = fakeWallClock
exports.inQuickRuns = inQuickRuns
exports.isLongRun = isLongRun
exports.newPath = newPath
exports.stopClock = stopClock
exports.temporaryFolder = temporaryFolder
exports.until = until
exports.FailingDisk = FailingDisk
exports.failEachCall = failEachCall
exports.faultyStorage = faultyStorage
exports.slowStorage = slowStorage
exports.windowsStorage = windowsStorage
exports.SimulatedDisk = SimulatedDisk
exports.CrashPoint = CrashPoint
exports.TEAR = TEAR
