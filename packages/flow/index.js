'use strict'
// What every layer of Millrace uses: lifecycles, callbacks and promises, signals, observables, yielding,
// wall clocks, text and bytes.

const {
  Piece, ScratchBuffer, allocateShared, copyBytes, isZero, putUint16, putUint32, putUint48, putUint53, readUInt32BE,
  readUInt48BE, readUInt53BE, writeUInt53BE
} = require('./lib/bytes')
const {
  SyncBudget, callbackOrPromise, createSettler, eachInOrder, promisesOf, rethrowAsync, toCallback, toPromise, trampoline
} = require('./lib/callbacks')
const { ClockWatch, boundParts, countOld, isPlausible, isTooFarAhead, laterTime, oldUntil } = require('./lib/clock')
const { describe } = require('./lib/describe')
const { Lifecycle } = require('./lib/lifecycle')
const { createObservable } = require('./lib/observable')
const { atExit } = require('./lib/process-exit')
const { abortable, abortError, onAbort, parseSignal } = require('./lib/abort')
const { escapeControls } = require('./lib/text')
const { Turns, endAll, inLanes } = require('./lib/turns')
const { pause, TimeSlice } = require('./lib/yielding')

/** @template T @typedef {import('./lib/callbacks').Callback<T>} Callback */
/** @template T @typedef {import('./lib/observable').Obz<T>} Obz */
/** @template T @typedef {import('./lib/observable').Observable<T>} Observable */

exports.Lifecycle = Lifecycle
exports.trampoline = trampoline
exports.eachInOrder = eachInOrder
exports.callbackOrPromise = callbackOrPromise
exports.createSettler = createSettler
exports.toCallback = toCallback
exports.toPromise = toPromise
exports.promisesOf = promisesOf
exports.rethrowAsync = rethrowAsync
exports.parseSignal = parseSignal
exports.abortError = abortError
exports.onAbort = onAbort
exports.abortable = abortable
exports.createObservable = createObservable
exports.atExit = atExit
exports.describe = describe
exports.escapeControls = escapeControls
exports.boundParts = boundParts
exports.countOld = countOld
exports.isPlausible = isPlausible
exports.isTooFarAhead = isTooFarAhead
exports.laterTime = laterTime
exports.oldUntil = oldUntil
exports.ClockWatch = ClockWatch
exports.Turns = Turns
exports.inLanes = inLanes
exports.endAll = endAll
exports.pause = pause
exports.TimeSlice = TimeSlice
exports.SyncBudget = SyncBudget
exports.Piece = Piece
exports.allocateShared = allocateShared
exports.isZero = isZero
exports.copyBytes = copyBytes
exports.ScratchBuffer = ScratchBuffer
exports.putUint16 = putUint16
exports.putUint32 = putUint32
exports.putUint48 = putUint48
exports.putUint53 = putUint53
exports.readUInt32BE = readUInt32BE
exports.readUInt48BE = readUInt48BE
exports.readUInt53BE = readUInt53BE
exports.writeUInt53BE = writeUInt53BE
