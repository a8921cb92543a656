'use strict'
// Tells the open writers of a thread that their process ends.
//
// Nothing here listens to signals: a listener of ours would take the place of what a signal does by itself, and would
// be counted by libraries that end the process only if they are alone. With `handleSignals` a record is in the kernel
// when `write` returns. So nothing has to be done when a signal comes, and it does what it would do without a writer.

const os = require('node:os')
const { nextTick } = require('node:process')
const { isMainThread } = require('node:worker_threads')

/**
 * @typedef {object} Ending
 * @property {() => void} onIdle  the event loop is empty; what this begins keeps the process running
 * @property {() => void} onExit  nothing asynchronous happens any more
 * @property {boolean} handlesSignals
 */

const SIGNALS = /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP'])
const SIGNAL_EXIT = 128

/** @type {Set<Ending>} */
const open = new Set()
let signalCount = 0

function onIdle () {
  for (const writer of open) writer.onIdle()
}

function onExit () {
  for (const writer of open) writer.onExit()
}

/**
 * The kernel gives process 1 no signal that it does not listen to, so a container without an init could only be killed.
 * There these signals end the process as they end any other, until the program itself listens to one of them.
 * @param {NodeJS.Signals} signal
 */
function endProcess1 (signal) {
  process.exit(SIGNAL_EXIT + os.constants.signals[signal])
}

/** @type {(event: string | symbol, listener: Function) => void} */
function onNewListener (event, listener) {
  if (listener === endProcess1 || !SIGNALS.some((signal) => signal === event)) return
  // Later: Node.js stops to listen to a signal when its last listener goes.
  nextTick(() => process.off(/** @type {NodeJS.Signals} */ (event), endProcess1))
}

function standIn () {
  for (const signal of SIGNALS) {
    if (process.rawListeners(signal).length === 0) process.on(signal, endProcess1)
  }
  process.on('newListener', onNewListener)
}

function standBack () {
  process.off('newListener', onNewListener)
  for (const signal of SIGNALS) process.off(signal, endProcess1)
}

/** @param {Ending} writer */
function addWriter (writer) {
  if (open.size === 0) process.on('beforeExit', onIdle).on('exit', onExit)
  open.add(writer)
  if (writer.handlesSignals && signalCount++ === 0 && process.pid === 1 && isMainThread) standIn()
}

/** @param {Ending} writer */
function removeWriter (writer) {
  if (!open.delete(writer)) return
  if (open.size === 0) process.off('beforeExit', onIdle).off('exit', onExit)
  if (writer.handlesSignals && --signalCount === 0) standBack()
}

exports.addWriter = addWriter
exports.removeWriter = removeWriter
