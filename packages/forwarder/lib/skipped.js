'use strict'
// Tells what was not forwarded because the log no longer has it: each loss once, although the log is read in pieces.

/** @typedef {import('./reading').Piece} Piece */

class Skips {
  /** How often the log no longer had what came next. */
  count = 0
  #reporter
  /** Damage that was told, and that a read which begins after this seq meets again. */
  #told = { after: -1, count: 0 }

  /** @param {import('./reports').Reporter} reporter */
  constructor (reporter) {
    this.#reporter = reporter
  }

  /**
   * Tells what a read has met of damage.
   * @type {(after: number, piece: Piece) => void} `after`: the seq after which it began
   */
  tellDamage (after, { end, isCut, lost, lostAtEnd }) {
    const told = this.#told.after === after ? this.#told.count : 0
    if (lost.count > told) this.#tellLost(after, end, lost.size)
    // If the bounds have ended the read, the next one passes the rest.
    const count = isCut ? 0 : lostAtEnd.count
    const toldAtEnd = end === after ? told : 0
    if (count > toldAtEnd) this.#tellLost(end, end, lostAtEnd.size)
    this.#told = { after: end, count: Math.max(count, toldAtEnd) }
  }

  /** @type {(from: number, to: number, size: number) => void} */
  #tellLost (from, to, size) {
    this.tell(from, to, null, `${size} bytes of the log are damaged`)
  }

  /** @type {(from: number, to: number, records: number | null, why: string) => void} */
  tell (from, to, records, why) {
    this.count++
    // An unknown number may be none: of what the log has dropped nobody can tell where its last record was.
    const what = records === null ? 'any records' : `${records} records`
    const message = `${what}${describePlace(from, to)} were not forwarded: ${why}`
    this.#reporter.tell({ what: 'skipped', message, from, to, records })
  }
}

/** @type {(from: number, to: number) => string} */
function describePlace (from, to) {
  if (from === -1) return to === -1 ? '' : ` before ${to}`
  return from === to ? ` after ${from}` : ` between ${from} and ${to}`
}

exports.Skips = Skips
