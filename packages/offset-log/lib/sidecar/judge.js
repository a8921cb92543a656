'use strict'
// Whether a sidecar can be about this log as it is now. What cannot be told from outside the content has to prove.

/**
 * @typedef {import('./slot').Slot} Slot
 * @typedef {{ size: number } & Partial<import('@millrace/block-file/lib/storage').FileState>} FileState  of a storage
 *   that does not say more, the size
 */

/**
 * @typedef {object} Verdict
 * @property {'trusted' | 'stale' | 'moved' | 'replaced' | 'missing' | 'damaged'} name
 *   trusted: what does not match is damage.
 *   stale: the log was closed, and changed by another program since.
 *   moved: it is about another file; perhaps both were copied.
 *   replaced: the sidecar was put there, or changed, by something else than its last writer.
 * @property {string} why  for people; empty when it is trusted
 */

// A slot says when it was written, and the file system when the file was. A thread may have been slow in between.
const LATE_MS_MAX = 1000

/**
 * @param {Slot} slot
 * @param {FileState} log  now
 * @param {FileState} sidecar  now
 * @returns {Verdict}
 */
function judge (slot, log, sidecar) {
  // The number of a device may be another one whenever the machine is started.
  if (isOther(slot.inode, log.inode)) {
    return doubtful('moved', 'the sidecar was made for another file')
  }
  if (slot.isClean) {
    if (log.size === slot.end && !isOther(slot.modifiedNs, log.modifiedNs)) return trusted()
    return doubtful('stale', 'another program has changed the log since the sidecar was written')
  }
  // An older copy of the sidecar says that the log was open, too.
  if (sidecar.changedNs !== undefined && Number(sidecar.changedNs / 1000000n) > slot.writtenMs + LATE_MS_MAX) {
    return doubtful('replaced', 'something has changed or replaced the sidecar since the log was written')
  }
  return trusted()
}

/** @returns {Verdict} */
function trusted () {
  return { name: 'trusted', why: '' }
}

/**
 * @param {Verdict['name']} name
 * @param {string} why
 * @returns {Verdict}
 */
function doubtful (name, why) {
  return { name, why }
}

/** @returns {Verdict} */
function missing () {
  return { name: 'missing', why: 'the sidecar is missing' }
}

/** @returns {Verdict} */
function damaged () {
  return { name: 'damaged', why: 'the sidecar is damaged, or is none' }
}

/**
 * Slots have 64 bits for it, and no sign.
 * @param {bigint} recorded  0 when it was not known
 * @param {bigint | undefined} found
 */
function isOther (recorded, found) {
  return recorded !== 0n && found !== undefined && BigInt.asUintN(64, found) !== BigInt.asUintN(64, recorded)
}

exports.isOther = isOther
exports.judge = judge
exports.missing = missing
exports.damaged = damaged
