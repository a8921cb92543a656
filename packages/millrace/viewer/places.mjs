// Where a record is in the list: by its seq; or if several processes write the log, by its slot and seq, and beside
// them the seqs that the other slots have reached.

/** @typedef {{ seq: number | string, beside?: string }} Place  of a record */

/** @param {Place} place  @returns {string}  as the server takes it */
export function formatPlace ({ seq, beside }) {
  return beside === undefined ? String(seq) : `${seq};${beside}`
}

/** @param {number | string} key  @returns {{ slot: string, seq: number }}  the slot is empty if there are none */
export function parseKey (key) {
  const [seq, slot = ''] = String(key).split(':').reverse()
  return { slot, seq: Number(seq) }
}

/**
 * Whether a record comes after another one.
 * @param {Place} row
 * @param {Place} other
 */
export function isAfter (row, other) {
  const [{ slot, seq }, reached] = [parseKey(row.seq), parseKey(other.seq)]
  return seq > (slot === reached.slot ? reached.seq : besideIn(other, slot))
}

/** @type {(place: Place, slot: string) => number} */
function besideIn ({ beside = '' }, slot) {
  const found = beside.split(',').map(parseBeside).find((pair) => pair.slot === slot)
  return found?.seq ?? -1
}

/** @param {string} pair */
function parseBeside (pair) {
  const [slot, seq] = pair.split(':')
  return { slot, seq: Number(seq) }
}
