'use strict'
// Says how far a long job is: a bar on a terminal, two lines anywhere else.

const BAR_WIDTH = 30
const REDRAW_MS = 100

/**
 * @typedef {object} Progress
 * @property {(done: number, note?: string) => void} update
 * @property {() => void} end
 */

/**
 * @param {string} title
 * @param {number} total
 * @param {{ isTTY?: boolean, write: (text: string) => unknown }} [stream]
 * @returns {Progress}
 */
function createProgress (title, total, stream = process.stderr) {
  const started = Date.now()
  const seconds = () => `${((Date.now() - started) / 1000).toFixed(1)} s`
  let drawn = 0
  if (!stream.isTTY) stream.write(`${title} ...\n`)

  return {
    update (done, note = '') {
      if (!stream.isTTY || Date.now() - drawn < REDRAW_MS) return
      drawn = Date.now()
      const filled = Math.round(BAR_WIDTH * Math.min(1, done / total))
      const bar = '#'.repeat(filled).padEnd(BAR_WIDTH, '.')
      stream.write(`\r\x1b[K${title} [${bar}] ${Math.floor(100 * done / total)}% ${note}`)
    },
    end () {
      stream.write(stream.isTTY ? `\r\x1b[K${title}: ${seconds()}\n` : `${title}: done in ${seconds()}\n`)
    }
  }
}

exports.createProgress = createProgress
