'use strict'
// Whether somebody reads a pipe that is written to. A write would say so, but the next record may never come. Node.js
// has no poll(2) of its own; that of WASI is one, and needs no program in WebAssembly.

const fs = require('node:fs')
const { clearInterval, setInterval } = require('node:timers')

const LOOK_MS = 250

// Of poll_oneoff, in WASI preview 1: where the parts of its arguments are, and their values.
const SUBSCRIPTION_SIZE = 48
const EVENTS_AT = 2 * SUBSCRIPTION_SIZE
const COUNT_AT = EVENTS_AT + 2 * 32
const [CLOCK, WRITABLE] = [0, 2]
const MONOTONIC = 1
const HANGUP = 1
const WAIT_NS = 1_000_000n

/**
 * @param {number | undefined} fd  of the output
 * @param {() => void} onClosed  runs once, when nobody has the other end open any more
 * @returns {() => void}  stops watching
 */
function watchOutput (fd, onClosed) {
  const isClosed = fd === undefined || !isPipe(fd) ? null : createPoll(fd)
  if (isClosed === null) return () => {}
  const timer = setInterval(() => {
    if (!isClosed()) return
    clearInterval(timer)
    onClosed()
  }, LOOK_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** Not a socket: its reader may have closed the other direction only. @param {number} fd */
function isPipe (fd) {
  try {
    return process.platform !== 'win32' && fs.fstatSync(fd).isFIFO()
  } catch {
    return false
  }
}

/**
 * @param {number} fd
 * @returns {(() => boolean) | null}  null where WASI cannot be had
 */
function createPoll (fd) {
  try {
    const wasi = new (loadWasi())({ version: 'preview1', stdout: fd })
    const memory = new (/** @type {any} */ (WebAssembly)).Memory({ initial: 1, maximum: 1 })
    wasi.initialize({ exports: { memory } })
    const view = new DataView(memory.buffer)
    view.setUint8(8, WRITABLE)
    view.setUint32(16, 1, true)
    // A pipe that is full is waited for no longer than that.
    view.setUint8(SUBSCRIPTION_SIZE + 8, CLOCK)
    view.setUint32(SUBSCRIPTION_SIZE + 16, MONOTONIC, true)
    view.setBigUint64(SUBSCRIPTION_SIZE + 24, WAIT_NS, true)
    const poll = /** @type {any} */ (wasi.wasiImport).poll_oneoff
    return () => {
      if (poll(0, EVENTS_AT, 2, COUNT_AT) !== 0 || view.getUint32(COUNT_AT, true) === 0) return false
      if (view.getUint8(EVENTS_AT + 10) !== WRITABLE) return false
      return view.getUint16(EVENTS_AT + 8, true) !== 0 || (view.getUint16(EVENTS_AT + 24, true) & HANGUP) !== 0
    }
  } catch {
    return null
  }
}

/** Node.js warns that it is experimental. Without it, the end is noticed by the next write. */
function loadWasi () {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return require('node:wasi').WASI
  } finally {
    process.emitWarning = emitWarning
  }
}

exports.watchOutput = watchOutput
