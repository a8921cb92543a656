'use strict'
// Tells the open writers of a thread that their process ends.

/**
 * @typedef {object} Ending
 * @property {() => void} onIdle  the event loop is empty; what this begins keeps the process running
 * @property {() => void} onSignal  the process may end now
 * @property {() => void} onExit  nothing asynchronous happens any more
 * @property {boolean} handlesSignals
 */

const SIGNALS = /** @type {const} */ (['SIGTERM', 'SIGINT'])

/** @type {Set<Ending>} */
const open = new Set()
let signalCount = 0

function onIdle () {
  for (const writer of open) writer.onIdle()
}

function onExit () {
  for (const writer of open) writer.onExit()
}

/** @param {NodeJS.Signals} signal */
function onSignal (signal) {
  const isLast = process.listenerCount(signal) === 1
  for (const writer of open) {
    if (!writer.handlesSignals) continue
    // If somebody else listens, that one decides when the process ends.
    if (isLast) writer.onExit()
    else writer.onSignal()
  }
  if (!isLast) return
  process.off(signal, onSignal)
  process.kill(process.pid, signal)
}

/** @param {Ending} writer */
function addWriter (writer) {
  if (open.size === 0) process.on('beforeExit', onIdle).on('exit', onExit)
  open.add(writer)
  if (!writer.handlesSignals || signalCount++ > 0) return
  for (const signal of SIGNALS) process.on(signal, onSignal)
}

/** @param {Ending} writer */
function removeWriter (writer) {
  if (!open.delete(writer)) return
  if (open.size === 0) process.off('beforeExit', onIdle).off('exit', onExit)
  if (!writer.handlesSignals || --signalCount > 0) return
  for (const signal of SIGNALS) process.off(signal, onSignal)
}

exports.addWriter = addWriter
exports.removeWriter = removeWriter
