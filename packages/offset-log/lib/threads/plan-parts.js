'use strict'
// Cuts the range of a scan into parts for threads. A cut is a guess, which the thread that reads up to it confirms.

const { trampoline } = require('@millrace/flow')

// Handing out a part costs a tenth of a millisecond; a part should take some, and all threads be done at the same time.
const PART_SIZES = { min: 2 * 1024 * 1024, max: 16 * 1024 * 1024 }
// So many parts a thread, where that is within the sizes.
const PARTS_A_THREAD = 6

/**
 * @typedef {object} Part
 * @property {number} from  the lowest seq wanted
 * @property {number} stop  one past the highest
 * @property {number} [at]  where in the file it begins; the first one, and one that has no bounds, has yet to find out
 */

/**
 * @param {import('../log-file').Store} store
 * @param {{ from: number, stop: number }} range
 * @param {number} threads
 * @param {{ min: number, max: number }} sizes  of parts, in bytes
 * @param {(parts: Part[]) => void} cb  at least one; what one stops at the next begins with
 */
function planParts (store, { from, stop }, threads, sizes, cb) {
  /** @type {Part[]} */
  const parts = [{ from, stop }]
  if (from >= stop || threads === 1) return cb(parts)
  store.findExtent(from, stop, (err, extent) => {
    // Where nothing can be found there may be damage, which whoever scans all of it meets in its turn.
    if (err || !extent) return cb(parts)
    const { start, end } = extent
    const size = Math.round(Math.min(sizes.max, Math.max(sizes.min, (end - start) / (threads * PARTS_A_THREAD))))
    let target = start + size
    trampoline((next) => {
      // Half a part is no part.
      if (target > end - size / 2) return cb(parts)
      store.findCut(target, end, (err, cut) => {
        if (err) return cb(parts)
        const last = parts[parts.length - 1]
        if (cut && cut.seq > last.from && cut.seq < stop) {
          last.stop = cut.seq
          parts.push({ from: cut.seq, stop, at: cut.at })
          target = Math.max(target, cut.at)
        }
        target += size
        next()
      })
    })
  })
}

exports.planParts = planParts
exports.PART_SIZES = PART_SIZES
