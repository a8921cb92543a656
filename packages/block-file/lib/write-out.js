'use strict'
// Writes to a descriptor of somebody else, such as standard error, before it returns: also if that is a full pipe.

const fs = require('node:fs')

const LOOK_MS = 1
const sleeper = new Int32Array(new SharedArrayBuffer(4))

/**
 * Goes on as long as the reader takes something. Never throws.
 * @param {number} fd
 * @param {Uint8Array} bytes
 * @param {number} patienceMs  for how long it waits for a reader that takes nothing
 * @returns {number}  how many bytes were written: fewer than all if the reader is gone, or took nothing for so long
 */
function writeOutSync (fd, bytes, patienceMs) {
  let size = 0
  // Counted, not measured: a test may have replaced every clock.
  let waitedMs = 0
  while (size < bytes.length) {
    try {
      size += fs.writeSync(fd, bytes, size)
      waitedMs = 0
    } catch (err) {
      if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'EAGAIN' || waitedMs >= patienceMs) break
      Atomics.wait(sleeper, 0, 0, LOOK_MS)
      waitedMs += LOOK_MS
    }
  }
  return size
}

exports.writeOutSync = writeOutSync
