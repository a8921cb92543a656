'use strict'
// Memory that a machine has not touched yet is slow to be written the first time, up to sixteen times: it is touched
// before anything is timed that fills the page cache.

const fs = require('node:fs')
const path = require('node:path')

const STEP_SIZE = 4 * 1024 * 1024

/**
 * @param {string} folder
 * @param {number} size  bytes
 */
function touchPageCache (folder, size) {
  const file = path.join(folder, `touched-${process.pid}`)
  const buf = Buffer.alloc(STEP_SIZE, 1)
  const fd = fs.openSync(file, 'w')
  for (let written = 0; written < size; written += STEP_SIZE) fs.writeSync(fd, buf)
  fs.closeSync(fd)
  fs.rmSync(file)
}

exports.touchPageCache = touchPageCache
